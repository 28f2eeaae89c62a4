import PushModel
import Store
import Testing

extension ConformanceCase {
    static let traffic: [ConformanceCase] = [
        ConformanceCase("figures of charts are summed by project, span and step") { scene in
            let other = ProjectID(rawValue: "other")!
            func count(
                _ step: Int64, _ counts: [LedgerOutcome: Int], _ span: TrafficSpan = .hour, of project: ProjectID? = nil
            ) -> TrafficCount {
                TrafficCount(project: project ?? scene.project, span: span, step: step, counts: counts)
            }
            try await scene.store.add([] as [TrafficCount])
            try await scene.store.add([
                count(9, [.accepted: 1]), count(10, [.accepted: 5, .rejected: 1]), count(10, [.accepted: 7], .day),
                count(10, [.cancelled: 9], of: other),
            ])
            // Another process adds to the same steps.
            try await scene.store.add([count(10, [.accepted: 2, .expired: 3]), count(12, [.cancelled: 4])])
            func found(_ steps: ClosedRange<Int64>, _ span: TrafficSpan = .hour) async throws -> [TrafficCount] {
                try await scene.store.traffic(of: scene.project, span, steps: steps)
            }
            let ten = count(10, [.accepted: 7, .rejected: 1, .expired: 3])
            #expect(try await found(10...12) == [ten, count(12, [.cancelled: 4])])
            #expect(try await found(9...11) == [count(9, [.accepted: 1]), ten])
            #expect(try await found(0...100, .day) == [count(10, [.accepted: 7], .day)])
            #expect(try await found(0...100, .week).isEmpty)
            #expect(
                try await scene.store.traffic(of: other, .hour, steps: 0...100)
                    == [count(10, [.cancelled: 9], of: other)])
        },
        ConformanceCase("figures of charts go when no chart shows them") { scene in
            let now = Timestamp(seconds: 1_767_312_000)
            for span in TrafficSpan.allCases {
                let steps = span.steps(endingAt: now)
                let (first, last) = (steps.lowerBound, steps.upperBound)
                for step in [first - 2, first - 1, first, last] {
                    let count = TrafficCount(project: scene.project, span: span, step: step, counts: [.accepted: 1])
                    try await scene.store.add([count])
                }
            }
            #expect(try await scene.store.forgetTraffic(at: now, limit: 4) == 4)
            #expect(try await scene.store.forgetTraffic(at: now, limit: 4) == 2)
            #expect(try await scene.store.forgetTraffic(at: now, limit: 4) == 0)
            for span in TrafficSpan.allCases {
                let steps = span.steps(endingAt: now)
                let left = try await scene.store.traffic(of: scene.project, span, steps: 0...Int64.max)
                #expect(left.map(\.step) == [steps.lowerBound, steps.upperBound])
            }
        },
    ]
}
