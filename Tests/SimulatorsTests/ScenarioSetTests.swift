import Foundation
import TestSupport
import Testing

@testable import Simulators

@Suite("Scenarios are named, set up and combined", .timeLimit(.minutes(5)))
struct ScenarioSetTests {
    @Test("The list explains each scenario and each parameter")
    func catalogue() {
        let text = Scenario.catalogue()
        for name in Scenario.Name.allCases {
            #expect(text.contains("\n\(name.rawValue)\n") || text.hasPrefix("\(name.rawValue)\n"))
            #expect(name.explanation.count > 40)
            for (parameter, value) in name.defaults {
                #expect(text.contains("\(parameter.rawValue)=\(Scenario.text(of: value)) "))
                #expect(parameter.problem(with: value) == nil, "\(name) \(parameter)")
            }
        }
        #expect(text.split(separator: "\n").allSatisfy { $0.count <= 110 })
    }

    @Test("A command line gives name, weight and parameters")
    func commandLine() throws {
        #expect(try Scenario(text: "goaway-partial") == Scenario(.goAwayPartial))
        #expect(try Scenario(text: "slow=2") == Scenario(.slow, weight: 2))
        #expect(
            try Scenario(text: "slow=0.5,medianMilliseconds=7,p99Milliseconds=9")
                == Scenario(.slow, weight: 0.5).setting("medianMilliseconds", to: 7).setting("p99Milliseconds", to: 9))
    }

    @Test(
        "What a command line cannot mean is refused",
        arguments: [
            ("slaw", "there is no scenario 'slaw'; there are none, stream-ramp"),
            ("slow=x", "slow: the weight 'x' is not a number"), ("slow=-1", "slow: the weight '-1'"),
            ("slow=nan", "slow: the weight 'nan'"),
            ("slow,share=1", "slow: there is no parameter 'share'; known are medianMilliseconds"),
            ("slow,medianMilliseconds", "'medianMilliseconds' is not PARAMETER=NUMBER"),
            ("slow,medianMilliseconds=0", "slow: medianMilliseconds must be a whole number, 1 to 3600000"),
            ("reset,share=1.5", "reset: share must be 0 to 1"), ("none,share=1", "it takes none"),
            ("expired-wedge,status=404", "expired-wedge: status must be 403 or 500"),
        ])
    func wrongCommandLine(text: String, problem: String) {
        let error = #expect(throws: SimulatorError.self) { try Scenario(text: text) }
        #expect(error?.description.contains(problem) == true, "\(error?.description ?? "")")
    }

    @Test("A set survives JSON")
    func json() throws {
        let set = ScenarioSet(
            [
                Scenario(.none, weight: 3), try Scenario(.drop).setting("abrupt", to: 1),
                try Scenario(.reset, weight: 0.5).setting("share", to: 0.25),
            ], seed: 7)
        #expect(try JSONDecoder().decode(ScenarioSet.self, from: JSONEncoder().encode(set)) == set)
        #expect(try JSONDecoder().decode(ScenarioSet.self, from: Data("{}".utf8)) == ScenarioSet())
    }

    @Test(
        "A garbled file is refused by file and key",
        arguments: [
            ("{", "is not JSON"), (#"{"sed":1}"#, "sed: unknown key; known are seed, scenarios"),
            (#"{"seed":-1}"#, "seed: must be 0 or greater"), (#"{"seed":"x"}"#, "seed: must be a whole number"),
            (#"{"scenarios":{}}"#, "scenarios: must be an array"),
            (#"{"scenarios":[{}]}"#, "scenarios.Index 0.name: is missing"),
            (#"{"scenarios":[{"name":"slaw"}]}"#, "scenarios.Index 0.name: is no scenario; there are none,"),
            (#"{"scenarios":[{"name":"slow","weight":-1}]}"#, "scenarios.Index 0.weight: must be 0 to"),
            (#"{"scenarios":[{"name":"slow","share":1}]}"#, "scenarios.Index 0.share: unknown key; known are median"),
            (#"{"scenarios":[{"name":"reset","share":"1"}]}"#, "scenarios.Index 0.share: must be a number"),
            (#"{"scenarios":[{"name":"reset","share":2}]}"#, "scenarios.Index 0.share: must be 0 to 1"),
        ])
    func garbledFile(text: String, problem: String) throws {
        let directory = try TestDirectory()
        let file = directory.file("scenarios.json")
        try text.write(toFile: file, atomically: true, encoding: .utf8)
        let error = #expect(throws: SimulatorError.self) { try ScenarioSet(file: file) }
        #expect(error?.description.hasPrefix("\(file): \(problem)") == true, "\(error?.description ?? "")")
    }

    @Test("Connections draw by weight, the same ones for the same seed, and no more than the limit allows")
    func draws() throws {
        func names(_ scenarios: [Scenario], seed: UInt64) -> [Scenario.Name] {
            let book = ScenarioBook { 0 }
            book.set(ScenarioSet(scenarios, seed: seed))
            return (0..<3000).map { _ in book.draw(streamLimit: 10).play?.scenario.name ?? .none }
        }
        let mix = [Scenario(.slow, weight: 2), Scenario(.drop), Scenario(.reset, weight: 0)]
        let drawn = names(mix, seed: 7)
        #expect(drawn == names(mix, seed: 7))
        #expect(drawn != names(mix, seed: 8))
        #expect(!drawn.contains(.reset) && !drawn.contains(.none))
        #expect((1900...2100).contains(drawn.count { $0 == .slow }))
        let limited = names([try Scenario(.drop).setting("connections", to: 3)], seed: 1)
        #expect(limited == Array(repeating: .drop, count: 3) + Array(repeating: .none, count: 2997))
        #expect(names([], seed: 1).allSatisfy { $0 == .none })
    }

    @Test("The generator gives what SplitMix64 is known to give")
    func generator() {
        var generator = SeededGenerator(seed: 1_234_567)
        #expect(
            (0..<3).map { _ in generator.next() }
                == [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423])
    }
}
