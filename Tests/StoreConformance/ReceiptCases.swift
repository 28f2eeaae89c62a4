import PushModel
import Store
import Testing

extension ConformanceCase {
    static let receipts: [ConformanceCase] = [
        ConformanceCase("receipts are kept once, of deliveries that exist, and counted") { scene in
            let topic = Scene.topic("news")
            let audience = try await scene.audience(5, of: topic)
            let stranger = try await scene.register(99)
            let message = try await scene.broadcast(topic)
            let page = try #require(try await scene.claimPage())
            // One ends, one is tried again, the others are still in the hands of the worker.
            try await scene.settle([page.deliveries[0].ended(), page.deliveries[1].retried(at: 9000)])
            for _ in 0..<2 {
                for registration in audience {
                    let kept = try await scene.keep([(message.id, .received), (message.id, .opened)], of: registration)
                    #expect(kept == [true, true])
                }
                #expect(try await scene.keep([(message.id, .received)], of: stranger) == [false])
                let unknown = MessageID(acceptedAt: Timestamp(milliseconds: 1), random: 1)
                let mixed = try await scene.keep(
                    [(unknown, .received), (message.id, .impression)], of: audience[0])
                #expect(mixed == [false, true])
            }
            let report = try await scene.report(message)
            #expect(report.receipts == [.received: 5, .opened: 5, .impression: 1])
            let other = try await scene.store.keep(
                [Receipt(message: message.id, kind: .received, time: Timestamp(milliseconds: 1))],
                of: audience[0].key, in: ProjectID(rawValue: "other")!, at: Timestamp(milliseconds: 5000))
            #expect(other == [false])
        },
        ConformanceCase("a receipt is found for every delivery, in whatever block it ended") { scene in
            let topic = Scene.topic("news")
            let audience = try await scene.audience(40, of: topic)
            let message = try await scene.broadcast(topic)
            let page = try #require(try await scene.claimPage())
            // Blocks whose ranges overlap.
            for part in 0..<4 {
                try await scene.settle(
                    page.deliveries.enumerated().filter { $0.offset % 4 == part }.map { $0.element.ended() })
            }
            for registration in audience {
                #expect(try await scene.keep([(message.id, .received)], of: registration) == [true])
            }
            #expect(try await scene.report(message).receipts == [.received: 40])
        },
        ConformanceCase("the first time of a receipt counts, between accept and now") { scene in
            let registration = try await scene.register(1)
            let message = try await scene.send(to: registration, at: 1000)
            for (kind, time, shown) in [
                (ReceiptKind.received, 5 as Int64, 1000 as Int64), (.opened, 3500, 3500),
                (.impression, 9_000_000, 5000),
            ] {
                for given in [time, 4000] {
                    _ = try await scene.store.keep(
                        [Receipt(message: message.id, kind: kind, time: Timestamp(milliseconds: given))],
                        of: registration.key, in: scene.project, at: Timestamp(milliseconds: 5000))
                }
                let waiting = try await scene.store.deliveries(
                    of: message.id, in: scene.project, outcome: nil, after: nil, limit: 9)
                #expect(waiting.elements.first?.receipts[kind] == Timestamp(milliseconds: shown), "\(kind)")
            }
            try await scene.settle(try await scene.claimDue(.interactive).map { $0.ended() })
            let ended = try await scene.store.deliveries(
                of: message.id, in: scene.project, outcome: .accepted, after: nil, limit: 9)
            #expect(ended.elements.first?.receipts.count == 3)
            let own = try await scene.store.deliveries(
                to: registration.id, in: scene.project, after: nil, limit: 9)
            #expect(own.elements.first?.delivery.receipts.count == 3)
        },
        ConformanceCase("receipts are exported after the ledger, each once, page by page") { scene in
            let topic = Scene.topic("news")
            let audience = try await scene.audience(3, of: topic)
            let message = try await scene.broadcast(topic)
            let page = try #require(try await scene.claimPage())
            try await scene.settle(page.deliveries.map { $0.ended() })
            for registration in audience {
                _ = try await scene.keep([(message.id, .received), (message.id, .opened)], of: registration)
            }
            for size in 1...10 {
                var rows: [ExportRow] = []
                var cursor: String?
                repeat {
                    let page = try await scene.store.export(
                        project: scene.project, from: Timestamp(milliseconds: 0), to: Timestamp(milliseconds: 6000),
                        at: Timestamp(milliseconds: 7000), after: cursor, limit: size)
                    #expect(page.elements.count <= size)
                    rows += page.elements
                    cursor = page.nextCursor
                } while cursor != nil
                #expect(
                    rows.map { $0.receipt?.kind } == [nil, nil, nil] + audience.flatMap { _ in [.received, .opened] })
                #expect(rows.map(\.delivery.registration) == audience.map(\.id) + audience.flatMap { [$0.id, $0.id] })
                #expect(rows.allSatisfy { $0.message == message.id && $0.topic == topic && $0.bulkID != nil })
            }
            // What is recorded after an export is in the next window.
            _ = try await scene.keep([(message.id, .impression)], of: audience[0], at: 5500)
            let next = try await scene.store.export(
                project: scene.project, from: Timestamp(milliseconds: 6000), to: Timestamp(milliseconds: 9000),
                at: Timestamp(milliseconds: 9000), after: nil, limit: 9)
            #expect(next.elements.map { $0.receipt?.kind } == [.impression])
            let other = try await scene.store.export(
                project: ProjectID(rawValue: "other")!, from: Timestamp(milliseconds: 0),
                to: Timestamp(milliseconds: 9000), at: Timestamp(milliseconds: 9000), after: nil, limit: 9)
            #expect(other.elements.isEmpty)
        },
        ConformanceCase("receipts outlive their registration") { scene in
            let registration = try await scene.register(1)
            let message = try await scene.send(to: registration)
            try await scene.settle(try await scene.claimDue(.interactive).map { $0.ended() })
            _ = try await scene.keep([(message.id, .received)], of: registration)
            try await scene.store.end(
                registration.key, RegistrationEnd(time: Timestamp(milliseconds: 6000), cause: .deleted))
            #expect(try await scene.store.purge(endedBefore: Timestamp(milliseconds: 7000), limit: 9) == 1)
            let rows = try await scene.store.export(
                project: scene.project, from: Timestamp(milliseconds: 0), to: Timestamp(milliseconds: 9000),
                at: Timestamp(milliseconds: 9000), after: nil, limit: 9)
            #expect(rows.elements.map(\.delivery.registration) == [registration.id, registration.id])
            #expect(try await scene.report(message).receipts == [.received: 1])
        },
    ]
}

extension Scene {
    fileprivate func keep(
        _ receipts: [(MessageID, ReceiptKind)], of registration: Registration, at time: Int64 = 5000
    ) async throws -> [Bool] {
        try await store.keep(
            receipts.map { Receipt(message: $0.0, kind: $0.1, time: Timestamp(milliseconds: 4000)) },
            of: registration.key, in: project, at: Timestamp(milliseconds: time))
    }
}
