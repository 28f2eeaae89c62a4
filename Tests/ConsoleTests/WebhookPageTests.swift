import PushModel
import SQLStorage
import SQLiteStorage
import Store
import Synchronization
import Testing

@testable import Console

/// Endpoints of webhooks as operators see and change them.
struct WebhookPageTests {
    private static let root = "/console/p/demo/webhooks"

    /// An endpoint made by the form; its page, and the answer that made it.
    private static func make(_ browser: inout Browser) async throws -> (path: String, answer: Answer) {
        _ = try await browser.get(root)
        let answer = try await browser.post(
            root,
            [
                "url": "https://hooks.example.com/herald", "description": "<i>books</i>",
                "type:message.finished": "on", "type:delivery.rejected": "on", "start": "now",
            ])
        let path = try #require(
            answer.text.firstMatch(of: /action="([^"]+)\/test"/), "\(answer.text)"
        ).output.1
        return (String(path), answer)
    }

    @Test func anEndpointIsMadeWithASecretThatIsShownOnce() async throws {
        let scene = try await ConsoleScene()
        var admin = try await scene.signIn("admin")
        let (path, made) = try await Self.make(&admin)
        let secret = try #require(made.text.firstMatch(of: /whsec_[A-Za-z0-9+\/=]+/)).output
        let page = try await admin.get(path)
        #expect(page.status == 200 && !page.text.contains(secret))
        #expect(page.text.contains("message.finished, delivery.rejected") && !page.text.contains("<i>books"))
        var viewer = try await scene.signIn("viewer")
        let seen = try await viewer.get(path)
        #expect(seen.status == 200 && !seen.text.contains("whsec_") && !seen.text.contains("/rotate"))
        #expect(try await viewer.get(Self.root).text.contains("up to date"))
        for act in ["test", "replay", "retry", "state", "rotate", "delete"] {
            #expect(try await viewer.post("\(path)/\(act)").status == 403, "\(act)")
        }
        // The URL is checked by the API, as for a backend.
        _ = try await admin.get(Self.root)
        let refused = try await admin.post(
            Self.root, ["url": "https://127.0.0.1/", "type:message.finished": "on"])
        #expect(refused.status == 400 && refused.text.contains("role=\"alert\""))
        #expect(refused.text.contains("value=\"https://127.0.0.1/\""))
    }

    @Test func itIsTestedDisabledRotatedAndDeleted() async throws {
        let scene = try await ConsoleScene()
        var admin = try await scene.signIn("admin")
        let (path, _) = try await Self.make(&admin)
        #expect(try await admin.post("\(path)/test").text.contains("The test was taken"))
        scene.receiver.status.withLock { $0 = 500 }
        let failed = try await admin.post("\(path)/test").text
        #expect(failed.contains("The test was not taken") && failed.contains("&lt;b&gt;thanks"))
        #expect(try await admin.get(path).text.split(separator: "webhook.test").count == 3)
        #expect(try await admin.post("\(path)/state", ["act": "disable"]).status == 303)
        #expect(try await admin.get(Self.root).text.contains(">disabled<"))
        #expect(try await admin.post("\(path)/state", ["act": "enable"]).status == 303)
        #expect(try await admin.get(Self.root).text.contains(">works<"))
        #expect(try await admin.post("\(path)/replay").text.contains("There is nothing to send once more."))
        #expect(try await admin.post("\(path)/retry").text.contains("There is nothing to send once more."))
        #expect(try await admin.post("\(path)/rotate").text.contains("whsec_"))
        scene.clock.advance(by: SessionKeeper.proofLimit)
        for act in ["rotate", "delete"] {
            #expect(try await admin.post("\(path)/\(act)").text.contains("Confirm that it is you"))
        }
        var proven = try await scene.signIn("admin")
        _ = try await proven.get(path)
        #expect(try await proven.post("\(path)/delete").location == Self.root)
        #expect(try await proven.get(path).status == 404)
    }
}
