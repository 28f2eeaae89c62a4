import JSON
import Testing

@testable import herald

/// What `herald links` prints and asks.
struct LinkCommandTests {
    private static func link(named name: String) -> JSONValue {
        .object([
            .init("link", .string("https://go.example.com/spring")), .init("linkName", .string(name)),
            .init("creationTime", .string("2026-01-02T03:04:05.000Z")), .init("visibility", .string("UNARCHIVED")),
            .init("info", .object([.init("link", .string("https://a.example/"))])),
        ])
    }

    @Test("a long name is cut before other columns are, and whole for programs")
    func longName() {
        let name = String(repeating: "n", count: 256)
        let table = LinksCommand.ListLinks.table([Self.link(named: name), Self.link(named: "Spring")])
        let lines = table.lines(width: 120)
        #expect(lines.allSatisfy { $0.count <= 120 }, "\(lines)")
        #expect(lines[1].contains("n…") && lines[1].contains("https://go.example.com/spring"), "\(lines)")
        #expect(lines[1].hasSuffix("2026-01-02T03:04:05.000Z  unarchived  https://a.example/"), "\(lines)")
        #expect(lines[2].contains("Spring "))
        #expect(table.lines(width: nil)[1].contains(name))
    }

    @Test("a link is deleted after a yes", arguments: ["y", "YES", "n", "", nil])
    func confirmation(answer: String?) {
        var question = ""
        let failure = Result { () throws(Failure) in
            try LinksCommand.DeleteLink.confirm(Self.link(named: "Spring")) { text in
                question = text
                return answer
            }
        }
        #expect(question == "Delete https://go.example.com/spring, which leads to https://a.example/? [y/N] ")
        if case .failure(let error) = failure {
            #expect(!["y", "YES"].contains(answer) && error.message.contains("--yes"))
        } else {
            #expect(["y", "YES"].contains(answer))
        }
    }
}
