import HTTPTypes
import PushModel
import SQLStorage
import SQLiteStorage
import Store
import Testing

@testable import Console

/// Signing in and out: links, passwords, codes, cookies, forms.
struct SessionTests {
    @Test func aLinkSignsInOnceByItsButton() async throws {
        let scene = try await ConsoleScene()
        let link = try await scene.link(for: "viewer")
        var browser = Browser(scene: scene)
        // Scanners of chats and mails open it, browsers fetch it ahead: it works still.
        for _ in 0..<2 {
            let page = try await browser.get(link)
            #expect(page.status == 200 && page.text.contains("<button") && page.headers[.setCookie] == nil)
        }
        #expect(try await browser.request(.head, link, nil, [:]).status == 200)
        // A page of another origin can't sign a browser in as somebody else.
        #expect(try await browser.post(link, headers: [.secFetchSite: "cross-site"]).status == 403)
        let opened = try await browser.post(link)
        #expect(opened.status == 303 && opened.location == "/console")
        let cookie = try #require(opened.headers[.setCookie])
        #expect(cookie.contains("HttpOnly") && cookie.contains("SameSite=Lax") && cookie.contains("Path=/console"))
        #expect(try await browser.get("/console").location == "/console/p/demo")
        #expect(try await browser.get("/console/p/demo").status == 200)
        var second = Browser(scene: scene)
        #expect(try await second.post(link).status == 410)
        #expect(try await second.get("/console/p/demo").location?.hasPrefix("/console/sign-in") == true)
        // Who is signed in already can use another link.
        let other = try await scene.link(for: "sender")
        #expect(try await browser.get(other).text.contains("You are signed in as <strong>viewer</strong>"))
        #expect(try await browser.post(other).status == 303)
    }

    @Test func aLinkEndsAfterAQuarterOfAnHour() async throws {
        let scene = try await ConsoleScene()
        let link = try await scene.link(for: "viewer")
        scene.clock.advance(by: ConsoleSignInLink.lifetime)
        var browser = Browser(scene: scene)
        #expect(try await browser.post(link).status == 410)
    }

    @Test func withTLSTheCookieIsKeptToTheHost() async throws {
        let scene = try await ConsoleScene(publicURL: "https://push.example.com")
        var browser = Browser(scene: scene)
        let cookie = try #require(try await browser.post(scene.link(for: "viewer")).headers[.setCookie])
        #expect(cookie.hasPrefix("__Host-herald=") && cookie.contains("Path=/; Secure"))
    }

    @Test func aPageThatIsOpenDoesNotKeepItsSession() async throws {
        let scene = try await ConsoleScene()
        var browser = try await scene.signIn("viewer")
        scene.clock.advance(by: SessionKeeper.idleLimit - .seconds(600))
        // Not a page that follows what happens: the feed ends at once.
        let feed = try await browser.get("/console/p/demo/access?live=1")
        #expect(feed.status == 200 && feed.text.contains("event: over"))
        scene.clock.advance(by: .seconds(600))
        #expect(try await browser.get("/console/p/demo").status == 303)
    }

    @Test func aSessionEndsWhenIdleAndInTheEnd() async throws {
        let scene = try await ConsoleScene()
        var browser = try await scene.signIn("viewer")
        scene.clock.advance(by: SessionKeeper.idleLimit - .seconds(1))
        #expect(try await browser.get("/console/p/demo").status == 200)
        for _ in 0..<14 {
            scene.clock.advance(by: SessionKeeper.idleLimit - .seconds(1))
            _ = try await browser.get("/console/p/demo")
        }
        #expect(try await browser.get("/console/p/demo").status == 303)
        var idle = try await scene.signIn("viewer")
        scene.clock.advance(by: SessionKeeper.idleLimit)
        #expect(try await idle.get("/console/p/demo").status == 303)
    }

    @Test func aRevokedOperatorAndASignedOutSessionAreOutAtOnce() async throws {
        let scene = try await ConsoleScene()
        var browser = try await scene.signIn("sender")
        _ = try await browser.get("/console/p/demo")
        let kept = browser
        #expect(try await browser.post("/console/sign-out").status == 303)
        var stolen = kept
        #expect(try await stolen.get("/console/p/demo").status == 303)
        var other = try await scene.signIn("sender")
        let name = try #require(OperatorName(rawValue: "sender"))
        #expect(try await scene.store.revoke(name, in: nil, at: scene.clock.now, by: .gateway))
        #expect(try await other.get("/console/p/demo").status == 303)
    }

    @Test func formsOfOtherPagesAreRefused() async throws {
        let scene = try await ConsoleScene()
        var browser = try await scene.signIn("operator")
        let device = try await scene.register()
        let path = "/console/p/demo/device/\(device.id)/end"
        _ = try await browser.get("/console/p/demo/device/\(device.id)")
        #expect(try await browser.post(path, token: "").status == 403)
        #expect(try await browser.post(path, token: "AAAA").status == 403)
        #expect(try await browser.post(path, headers: [.secFetchSite: "cross-site"]).status == 403)
        #expect(try await browser.post(path, headers: [.origin: "https://evil.example"]).status == 403)
        #expect(try await scene.store.registration(device.id, in: scene.demo)?.isActive == true)
        #expect(try await browser.post(path, headers: [.origin: "http://127.0.0.1:8080"]).status == 303)
        #expect(try await scene.store.registration(device.id, in: scene.demo)?.isActive == false)
    }

    @Test func passwordAndCodeSignInAndFailuresAreCounted() async throws {
        let scene = try await ConsoleScene()
        let key = OneTimeCode.randomKey()
        let name = try #require(OperatorName(rawValue: "admin"))
        let hash = try PasswordHash.make("correct horse battery", rounds: 1 << 10)
        for secret in [OperatorSecret.password(hash: hash), .oneTimeKey(key)] {
            _ = try await scene.store.set(secret, of: name, keeping: nil, at: scene.clock.now, by: .gateway)
        }
        let code = OneTimeCode.code(key: key, step: scene.clock.now.seconds / 30)
        var browser = Browser(scene: scene)
        let right = ["name": "admin", "password": "correct horse battery", "code": code]
        var wrong = right
        wrong["code"] = code == "000000" ? "000001" : "000000"
        #expect(try await browser.post("/console/sign-in", wrong).status == 401)
        #expect(try await browser.post("/console/sign-in", right).status == 303)
        #expect(try await browser.get("/console/p/demo").status == 200)
        var replay = Browser(scene: scene)
        #expect(try await replay.post("/console/sign-in", right).status == 401)
        for name in ["admin", "unknown"] {
            var guesser = Browser(scene: scene)
            let guess = ["name": name, "password": "wrong"]
            var answers: [Int] = []
            for _ in 0...SignInThrottle.limit {
                answers.append(try await guesser.post("/console/sign-in", guess).status)
            }
            #expect(answers.last == 429 && answers.first == 401)
        }
        let failed = try await scene.store.auditEntries(
            AuditFilter(project: scene.demo, action: .operatorFailedToSignIn), after: nil, limit: 100)
        #expect(failed.elements.count > SignInThrottle.limit && failed.elements.allSatisfy { $0.subject == "admin" })
    }

    @Test func strangersDoNotKeepAnOperatorFromAProof() async throws {
        let scene = try await ConsoleScene()
        let hash = try PasswordHash.make("correct horse battery", rounds: 1 << 10)
        let name = try #require(OperatorName(rawValue: "admin"))
        _ = try await scene.store.set(.password(hash: hash), of: name, keeping: nil, at: scene.clock.now, by: .gateway)
        var browser = try await scene.signIn("admin")
        _ = try await browser.get("/console/prove")
        var guesser = Browser(scene: scene)
        for _ in 0...SignInThrottle.limit {
            _ = try await guesser.post("/console/sign-in", ["name": "admin", "password": "wrong"])
        }
        #expect(try await browser.post("/console/prove", ["password": "correct horse battery"]).status == 303)
        for _ in 0..<SignInThrottle.limit {
            #expect(try await browser.post("/console/prove", ["password": "wrong"]).status == 401)
        }
        #expect(try await browser.post("/console/prove", ["password": "correct horse battery"]).status == 429)
    }

    @Test func failuresOfANameCountByAddress() {
        let (throttle, now) = (SignInThrottle(), ConsoleScene.startTime)
        let attempts = { (name: String, address: String, count: Int) in
            (0..<count).filter { _ in throttle.begin(.name(name, from: address), at: now) == nil }.count
        }
        #expect(attempts("ada", "192.0.2.1", 9) == SignInThrottle.limit)
        #expect(attempts("ada", "192.0.2.2", 1) == 1)
        throttle.succeeded(.name("ada", from: "192.0.2.2"))
        #expect(attempts("ada", "192.0.2.2", 9) == SignInThrottle.limit)
        let all = (0..<30).reduce(0) { $0 + attempts("bob", "198.51.100.\($1)", 9) }
        #expect(all == SignInThrottle.nameLimit)
        #expect((0..<9).reduce(0) { $0 + attempts("eve\($1)", "203.0.113.1", 9) } == SignInThrottle.addressLimit)
        // Of an attempt whose end is not known nothing counts.
        for _ in 0..<9 {
            #expect(throttle.begin(.session("s"), at: now) == nil)
            throttle.takeBack(.session("s"))
        }
        #expect(throttle.begin(.name("ada", from: "192.0.2.1"), at: now + SignInThrottle.window) == nil)
    }

    @Test func goesBackToPagesOfTheConsoleOnly() async throws {
        let scene = try await ConsoleScene()
        let hash = try PasswordHash.make("correct horse battery", rounds: 1 << 10)
        let name = try #require(OperatorName(rawValue: "viewer"))
        _ = try await scene.store.set(
            .password(hash: hash), of: name, keeping: nil, at: scene.clock.now, by: .gateway)
        let places = [
            "/console/p/demo/topics": "/console/p/demo/topics", "https://evil.example": "/console",
            "//evil.example": "/console", "/console/p//evil.example": "/console",
        ]
        for (back, place) in places {
            var browser = Browser(scene: scene)
            let fields = ["name": "viewer", "password": "correct horse battery", "back": back]
            #expect(try await browser.post("/console/sign-in", fields).location == place)
        }
    }

    /// RFC 6238, appendix B: the last six of its eight digits.
    @Test(arguments: [(59, "287082"), (1_111_111_109, "081804"), (1_234_567_890, "005924"), (20_000_000_000, "353130")])
    func codesAreThoseOfTheStandard(time: Int, code: String) throws {
        let key = Array("12345678901234567890".utf8)
        #expect(OneTimeCode.code(key: key, step: Int64(time / 30)) == code)
        let now = Timestamp(seconds: Int64(time))
        #expect(OneTimeCode.step(of: code, key: key, at: now + .seconds(30)) == Int64(time / 30))
        #expect(OneTimeCode.step(of: code, key: key, at: now + .seconds(90)) == nil)
        #expect(OneTimeCode.base32(key) == "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ")
        #expect(OneTimeCode.key(base32: OneTimeCode.base32(key)) == key)
    }

    @Test func aPasswordFitsItsOwnHashOnly() throws {
        let hash = try PasswordHash.make("correct horse battery")
        #expect(try PasswordHash.matches("correct horse battery", hash))
        #expect(try !PasswordHash.matches("correct horse batterz", hash))
        #expect(try !PasswordHash.matches("", nil))
        #expect(try PasswordHash.make("correct horse battery") != hash)
    }
}
