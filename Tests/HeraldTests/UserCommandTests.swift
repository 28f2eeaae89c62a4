import JSON
import PushModel
import Testing

@testable import herald

/// What `herald user erase` asks and prints.
struct UserCommandTests {
    @Test(arguments: ["y", "YES", "n", "", nil])
    func aPersonIsErasedAfterAYes(answer: String?) throws {
        let user = try #require(UserID(rawValue: "alice"))
        var question = ""
        let failure = Result { () throws(Failure) in
            try UserCommand.Erase.confirm(user) { text in
                question = text
                return answer
            }
        }
        #expect(question == "Erase what is kept of alice? It can't be undone. [y/N] ")
        if case .failure(let error) = failure {
            #expect(!["y", "YES"].contains(answer) && error.message.contains("--yes"))
        } else {
            #expect(["y", "YES"].contains(answer))
        }
    }

    @Test func whatStandsInTheWayIsTold() throws {
        func problem(_ text: String) throws -> String? {
            UserCommand.Erase.problem(try JSONValue(parsing: text.utf8))
        }
        #expect(try problem(#"{"rewritten":true}"#) == nil)
        #expect(try problem(#"{"rewritten":false,"reason":"READER"}"#)?.contains("goes on trying") == true)
        #expect(try problem(#"{"rewritten":false,"reason":"FILE_SIZE"}"#)?.contains("VACUUM") == true)
        #expect(try problem(#"{"rewritten":false,"reason":"SERVER"}"#)?.contains("standbys") == true)
        let answer = try JSONValue(parsing: #"{"registrations":2,"links":1}"#.utf8)
        #expect(
            UserCommand.Erase.summary(answer)
                == "erased: registrations: 2, messages: 0, short links: 1, receipts: 0, device groups: 0, audit entries: 0"
        )
    }
}
