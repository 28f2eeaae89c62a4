import Crypto
import CryptoExtras
import Foundation
import HTTPTypes
import JSON
import Logging
import NIOSSL
import PushModel
import SQLStorage
import SQLiteStorage
import Store
import Synchronization
import TestSupport
import Testing

@testable import Console

/// Signing in by a provider of OpenID Connect, against one on a real socket.
@Suite(.timeLimit(.minutes(5)))
struct ProviderSignInTests {
    private static let start = "/console/sign-in/oidc?back=%2Fconsole%2Fp%2Fdemo%2Ftopics"
    private static let ada = "ada@example.com"

    /// A scene that knows a provider, where Ada is an operator.
    private static func scene(
        _ configuration: OIDCConfiguration, role: OperatorRole? = .admin
    ) async throws -> ConsoleScene {
        let scene = try await ConsoleScene(oidc: configuration)
        if let role { _ = try await scene.grant(role, in: scene.demo, to: ada) }
        return scene
    }

    /// Sends a browser to the provider and back.
    private static func signIn(_ browser: inout Browser, _ provider: SimulatedProvider) async throws -> Answer {
        let begun = try await browser.get(start)
        #expect(begun.status == 303)
        return try await browser.get(provider.signIn(at: begun.location))
    }

    private static func failures(_ scene: ConsoleScene, _ name: String = ada) async throws -> [AuditEntry] {
        try await scene.store.auditEntries(
            AuditFilter(project: scene.demo, action: .operatorFailedToSignIn, subject: name), after: nil, limit: 10
        ).elements
    }

    @Test func theProviderSignsAnOperatorIn() async throws {
        try await SimulatedProvider.with { provider in
            let scene = try await Self.scene(provider.configuration)
            var browser = Browser(scene: scene)
            #expect(try await browser.get("/console/sign-in").text.contains("Sign in with Example Login"))
            let answer = try await Self.signIn(&browser, provider)
            #expect(answer.status == 303 && answer.location == "/console/p/demo/topics")
            #expect(try await browser.get("/console/p/demo").text.contains(Self.ada))
            let entries = try await scene.store.auditEntries(
                AuditFilter(project: scene.demo, action: .operatorSignedIn), after: nil, limit: 10)
            #expect(entries.elements.map(\.subject) == [Self.ada])
            // Description and keys are kept: the second sign-in asks for the token alone.
            var other = Browser(scene: scene)
            #expect(try await Self.signIn(&other, provider).status == 303)
            #expect(provider.count("description") == 1 && provider.count("jwks") == 1 && provider.count("token") == 2)
        }
    }

    @Test func aKeyOfRSAWithoutANameCounts() async throws {
        try await SimulatedProvider.with { provider in
            let key = SimulatedProvider.Key.rsa(try _RSA.Signing.PrivateKey(keySize: .bits2048))
            provider.state.withLock { state in
                state.published["rsa"] = key
                state.signer = (nil, key)
            }
            var browser = Browser(scene: try await Self.scene(provider.configuration))
            #expect(try await Self.signIn(&browser, provider).status == 303)
        }
    }

    static let wrongClaims: [(claims: [String: JSONValue?], text: String)] = [
        (["nonce": .string("another")], "belongs to another sign-in"),
        (["nonce": nil], "belongs to another sign-in"),
        (["aud": .string("another")], "for another application"),
        (["aud": .array([.string(SimulatedProvider.clientID), .string("b")])], "for another application"),
        (["azp": .string("another")], "for another application"),
        (["iss": .string("https://evil.example")], "issued by another provider"),
        (["exp": .number("\(ConsoleScene.startTime.seconds - 61)")], "over or not valid yet"),
        (["iat": .number("\(ConsoleScene.startTime.seconds + 120)")], "over or not valid yet"),
        (["nbf": .number("\(ConsoleScene.startTime.seconds + 120)")], "over or not valid yet"),
        (["exp": nil], "no exp or iat"),
        (["sub": nil], "no sub"),
        (["email_verified": .bool(false)], "has not checked yet"),
        (["email_verified": nil], "has not checked yet"),
        (["email": nil], "did not tell the claim email"),
        (["email": .string("ada+x@example.com")], "can’t be an operator’s name"),
        (["email": .string("bob@example.com")], "there is no such operator here"),
    ]

    @Test(arguments: ProviderSignInTests.wrongClaims.indices)
    func aTokenWithWrongClaimsSignsNoOneIn(place: Int) async throws {
        let (claims, text) = Self.wrongClaims[place]
        try await SimulatedProvider.with { provider in
            provider.state.withLock { $0.claims = claims }
            var browser = Browser(scene: try await Self.scene(provider.configuration))
            let answer = try await Self.signIn(&browser, provider)
            #expect([401, 403].contains(answer.status) && answer.text.contains(text), "\(answer.text)")
            #expect(try await browser.get("/console/p/demo").status == 303)
        }
    }

    @Test func severalAudiencesCountWithTheConsoleAsParty() async throws {
        try await SimulatedProvider.with { provider in
            let id = JSONValue.string(SimulatedProvider.clientID)
            provider.state.withLock { $0.claims = ["aud": .array([.string("b"), id]), "azp": id] }
            var browser = Browser(scene: try await Self.scene(provider.configuration))
            #expect(try await Self.signIn(&browser, provider).status == 303)
        }
    }

    @Test(arguments: ["none", "HS256", "RS1"])
    func anAlgorithmWithoutAPublicKeyIsRefused(algorithm: String) async throws {
        try await SimulatedProvider.with { provider in
            provider.state.withLock { $0.algorithm = algorithm }
            var browser = Browser(scene: try await Self.scene(provider.configuration))
            let answer = try await Self.signIn(&browser, provider)
            #expect(answer.status == 401 && answer.text.contains("signs its answer with \(algorithm)"))
            #expect(provider.count("jwks") == 0)
        }
    }

    @Test func anAlgorithmThatIsNotTheKeysIsRefused() async throws {
        try await SimulatedProvider.with { provider in
            provider.state.withLock { $0.algorithm = "RS256" }
            var browser = Browser(scene: try await Self.scene(provider.configuration))
            let answer = try await Self.signIn(&browser, provider)
            #expect(answer.status == 401 && answer.text.contains("signature of the answer is wrong"))
        }
    }

    @Test func anotherKeyOfTheSameNameIsRefused() async throws {
        try await SimulatedProvider.with { provider in
            provider.state.withLock { $0.signer = ("first", .ec(P256.Signing.PrivateKey())) }
            var browser = Browser(scene: try await Self.scene(provider.configuration))
            let answer = try await Self.signIn(&browser, provider)
            #expect(answer.status == 401 && answer.text.contains("signature of the answer is wrong"))
        }
    }

    @Test func keysThatChangeAreReadAgainAndNotAtEachUnknownOne() async throws {
        try await SimulatedProvider.with { provider in
            let scene = try await Self.scene(provider.configuration)
            var browser = Browser(scene: scene)
            #expect(try await Self.signIn(&browser, provider).status == 303)
            let next = SimulatedProvider.Key.ec(P256.Signing.PrivateKey())
            provider.state.withLock { $0.signer = ("second", next) }
            // Not published yet. Just after the keys were read they are not read again.
            for (advance, reads) in [(Duration.zero, 1), (OIDCProvider.keyPause, 2), (.zero, 2)] {
                scene.clock.advance(by: advance)
                let answer = try await Self.signIn(&browser, provider)
                #expect(answer.status == 401 && answer.text.contains("a key that Example Login does not publish"))
                #expect(provider.count("jwks") == reads)
            }
            provider.state.withLock { $0.published = ["second": next] }
            scene.clock.advance(by: OIDCProvider.keyPause)
            #expect(try await Self.signIn(&browser, provider).status == 303)
            #expect(provider.count("jwks") == 3)
            // One that was withdrawn counts no longer than the keys are kept.
            provider.state.withLock { $0.published = ["third": .ec(P256.Signing.PrivateKey())] }
            scene.clock.advance(by: OIDCProvider.lifetime)
            provider.state.withLock { $0.now = scene.clock.now }
            #expect(try await Self.signIn(&browser, provider).status == 401)
        }
    }

    @Test func anAnswerCountsOnceInTheBrowserThatAskedAndForTenMinutes() async throws {
        try await SimulatedProvider.with { provider in
            let scene = try await Self.scene(provider.configuration)
            var browser = Browser(scene: scene)
            let begun = try await browser.get(Self.start)
            let cookie = try #require(begun.headers[.setCookie])
            #expect(cookie.hasPrefix("herald-oidc=") && cookie.contains("HttpOnly; SameSite=Lax; Max-Age=600"))
            let back = try provider.signIn(at: begun.location)
            // Sent to another browser, it would sign that one in as somebody else.
            var other = Browser(scene: scene)
            #expect(try await other.get(back).status == 400)
            _ = try await other.get(Self.start)
            #expect(try await other.get(back).status == 400)
            let kept = browser
            #expect(try await browser.get(back).status == 303)
            // The same again, with all that the browser had.
            var replay = kept
            let again = try await replay.get(back)
            #expect(again.status == 400 && again.text.contains("was used before"))
            #expect(provider.count("token") == 1)
            _ = try await browser.get("/console/p/demo")
            let late = try await browser.get(Self.start)
            scene.clock.advance(by: SignInAttempt.lifetime)
            #expect(try await browser.get(provider.signIn(at: late.location)).status == 400)
            // A page of HEAD would use it up; a form is no answer of a provider.
            #expect(try await browser.request(.head, back, nil, [:]).status == 405)
            #expect(try await browser.post("/console/sign-in/oidc/callback").status == 405)
        }
    }

    @Test func aPersonWhoSaysNoIsTold() async throws {
        try await SimulatedProvider.with { provider in
            var browser = Browser(scene: try await Self.scene(provider.configuration))
            let begun = try await browser.get(Self.start)
            let answer = try await browser.get(provider.refuse(at: begun.location))
            #expect(answer.status == 401 && answer.text.contains("did not sign you in: you, or a rule there, said no"))
        }
    }

    @Test func anAnswerOfAnotherIssuerIsRefused() async throws {
        try await SimulatedProvider.with { provider in
            var browser = Browser(scene: try await Self.scene(provider.configuration))
            let begun = try await browser.get(Self.start)
            let back = try provider.signIn(at: begun.location).replacing(
                provider.issuer.urlEncoded, with: "https://evil.example".urlEncoded)
            let answer = try await browser.get(back)
            #expect(answer.status == 401 && answer.text.contains("issued by another provider"))
            #expect(provider.count("token") == 0)
        }
    }

    @Test func aProviderThatIsDownIsSaidSoAndLinksStillWork() async throws {
        let configuration = try await SimulatedProvider.with { $0.configuration }
        let scene = try await Self.scene(configuration)
        var browser = Browser(scene: scene)
        let answer = try await browser.get(Self.start)
        #expect(answer.status == 502 && answer.text.contains("Example Login can’t be reached now"))
        #expect(try await browser.post(scene.link(for: Self.ada)).status == 303)
    }

    @Test func whatFailsBesideTheTokenIsSaidInWords() async throws {
        try await SimulatedProvider.with { provider in
            let scene = try await Self.scene(provider.configuration)
            var browser = Browser(scene: scene)
            provider.state.withLock { $0.status = .internalServerError }
            #expect(try await browser.get(Self.start).status == 502)
            provider.state.withLock { $0.status = .ok }
            #expect(try await browser.get(Self.start).text.contains("can’t be reached now"))
            provider.state.withLock { $0.status = nil }
            for (change, text) in [
                ("issuer", "its issuer is x, not http://127.0.0.1"),
                ("token_endpoint", "its token_endpoint is no https"),
                ("jwks_uri", "its jwks_uri is no https"),
            ] {
                provider.state.withLock { $0.description = [change: .string("x")] }
                let answer = try await browser.get(Self.start)
                #expect(answer.status == 502 && answer.text.contains(text))
            }
            provider.state.withLock {
                $0.description = ["code_challenge_methods_supported": .array([.string("plain")])]
            }
            #expect(try await browser.get(Self.start).text.contains("it has no PKCE with S256"))
            provider.state.withLock { $0.description = [:] }
            let begun = try await browser.get(Self.start)
            // The token's place goes down meanwhile: the failure is the provider's, and no guess.
            let back = try provider.signIn(at: begun.location)
            provider.state.withLock { $0.status = .serviceUnavailable }
            #expect(try await browser.get(back).status == 502)
            // With what is known of it signing in still begins when it is not described anew.
            scene.clock.advance(by: OIDCProvider.lifetime)
            #expect(try await browser.get(Self.start).status == 303)
            provider.state.withLock { state in
                (state.status, state.now) = (nil, scene.clock.now)
            }
            #expect(try await Self.signIn(&browser, provider).status == 303)
        }
    }

    @Test func aWrongSecretIsSaidToTheAdmin() async throws {
        try await SimulatedProvider.with { provider in
            var configuration = provider.configuration
            configuration.clientSecret = "wrong"
            var browser = Browser(scene: try await Self.scene(configuration))
            let answer = try await Self.signIn(&browser, provider)
            #expect(answer.status == 401 && answer.text.contains("does not take this console’s ID and secret"))
            // No log shows it.
            #expect(!"\(configuration) \(String(reflecting: configuration))".contains("wrong"))
        }
    }

    @Test func anAnswerThatDoesNotComeIsGivenUp() async throws {
        try await SimulatedProvider.with { provider in
            let (silence, end) = AsyncStream.makeStream(of: Void.self)
            defer { end.finish() }
            provider.state.withLock { $0.silence = silence }
            let clock = TestClock()
            let client = ProviderClient(trustFile: nil, proxy: { _, _ in nil }, clock: clock)
            let url = "\(provider.issuer)/token?code=secret"
            let asked = Task { try await client.post(url, [("a", "b")], authorization: nil).status }
            await clock.advanceToSleeper(within: ProviderClient.timeout)
            let problem = await #expect(throws: OIDCProblem.self) { try await asked.value }
            #expect(problem == .unreachable("\(provider.issuer)/token", reason: "not within 10 s"))
        }
    }

    @Test func whoFailsTooOftenFromOneAddressWaits() async throws {
        try await SimulatedProvider.with { provider in
            provider.state.withLock { $0.claims = ["nonce": .string("another")] }
            let scene = try await Self.scene(provider.configuration)
            for _ in 0..<SignInThrottle.addressLimit {
                var browser = Browser(scene: scene)
                #expect(try await Self.signIn(&browser, provider).status == 401)
            }
            var browser = Browser(scene: scene)
            #expect(try await Self.signIn(&browser, provider).status == 503)
            #expect(provider.count("token") == SignInThrottle.addressLimit)
            scene.clock.advance(by: SignInThrottle.window)
            #expect(try await Self.signIn(&browser, provider).status == 401)
        }
    }

    // MARK: Operators and roles

    @Test func aRevokedOperatorStaysOut() async throws {
        try await SimulatedProvider.with { provider in
            var configuration = provider.configuration
            let demo = try #require(ProjectID(rawValue: "demo"))
            configuration.roles = [.init(value: "admins", project: demo, role: .admin)]
            provider.state.withLock { $0.claims = ["groups": .array([.string("admins")])] }
            for configuration in [provider.configuration, configuration] {
                let scene = try await Self.scene(configuration)
                let name = try #require(OperatorName(rawValue: Self.ada))
                #expect(try await scene.store.revoke(name, in: nil, at: scene.clock.now, by: .gateway))
                var browser = Browser(scene: scene)
                let answer = try await Self.signIn(&browser, provider)
                #expect(answer.status == 403 && answer.text.contains("was revoked"))
                #expect(try await scene.store.console(operator: name)?.roles.isEmpty == true)
            }
        }
    }

    @Test func theProvidersGroupsGiveChangeAndTakeRoles() async throws {
        try await SimulatedProvider.with { provider in
            var configuration = provider.configuration
            let demo = try #require(ProjectID(rawValue: "demo"))
            configuration.rolesClaim = "realm_access.roles"
            configuration.roles = [
                .init(value: "push-view", project: demo, role: .viewer),
                .init(value: "push-admin", project: demo, role: .admin),
            ]
            let scene = try await Self.scene(configuration, role: nil)
            let groups = { (names: [String]) in
                let roles = JSONValue.array(names.map { .string($0) })
                provider.state.withLock { $0.claims = ["realm_access": .object([.init("roles", roles)])] }
            }
            var browser = Browser(scene: scene)
            groups(["staff"])
            let none = try await Self.signIn(&browser, provider)
            #expect(none.status == 403 && none.text.contains("gives you no role here"))
            let name = try #require(OperatorName(rawValue: Self.ada))
            for (names, role) in [
                (["push-view", "staff"], OperatorRole.viewer), (["push-view", "push-admin"], .admin),
                (["push-view"], .viewer),
            ] {
                groups(names)
                #expect(try await Self.signIn(&browser, provider).status == 303)
                #expect(try await scene.store.console(operator: name)?.roles == [demo: role])
            }
            // A role of a project without a rule is given here, and stays.
            _ = try await scene.grant(.sender, in: scene.other, to: Self.ada)
            groups([])
            #expect(try await Self.signIn(&browser, provider).status == 303)
            #expect(try await scene.store.console(operator: name)?.roles == [scene.other: .sender])
            let entries = try await scene.store.auditEntries(
                AuditFilter(project: demo, subject: Self.ada), after: nil, limit: 20
            ).elements.filter { $0.credential.id == "oidc" }
            #expect(
                entries.map(\.action).sorted { $0.rawValue < $1.rawValue } == [
                    .operatorGranted, .operatorGranted, .operatorGranted, .operatorRevoked,
                ])
        }
    }

    // MARK: Proofs and signing out

    @Test func aProofIsASignInThatTheProviderAsksFor() async throws {
        try await SimulatedProvider.with { provider in
            let scene = try await Self.scene(provider.configuration)
            var browser = Browser(scene: scene)
            #expect(try await Self.signIn(&browser, provider).status == 303)
            // The session at the provider is hours old: signing in by it proves nothing new.
            let fields = ["name": "x", "_back": "/console/p/demo/access", "role": "sender"]
            _ = try await browser.get("/console/p/demo/access")
            let asked = try await browser.post("/console/p/demo/access/key", fields)
            #expect(asked.text.contains("Confirm with Example Login"), "\(asked.text)")
            let begun = try await browser.get("/console/sign-in/oidc?prove=1&back=%2Fconsole%2Fp%2Fdemo%2Faccess")
            #expect(begun.location?.contains("prompt=login&max_age=0") == true)
            provider.state.withLock { $0.claims = ["auth_time": .number("\(scene.clock.now.seconds - 3600)")] }
            let old = try await browser.get(provider.signIn(at: begun.location))
            #expect(old.status == 401 && old.text.contains("did not ask you again"))
            #expect(try await Self.failures(scene).count == 1)
            provider.state.withLock { $0.claims = ["email": .string("viewer"), "email_verified": .bool(true)] }
            let another = try await browser.get("/console/sign-in/oidc?prove=1")
            let wrong = try await browser.get(provider.signIn(at: another.location))
            #expect(wrong.status == 403 && wrong.text.contains("this session is of another operator"))
            provider.state.withLock { $0.claims = [:] }
            let last = try await browser.get("/console/sign-in/oidc?prove=1&back=%2Fconsole%2Fp%2Fdemo%2Faccess")
            let proven = try await browser.get(provider.signIn(at: last.location))
            #expect(proven.status == 303 && proven.location == "/console/p/demo/access")
            _ = try await browser.get("/console/p/demo/access")
            #expect(try await browser.post("/console/p/demo/access/key", fields).text.contains("It is shown only now"))
        }
    }

    @Test func signingOutLeadsToTheProvidersEndToo() async throws {
        try await SimulatedProvider.with { provider in
            var browser = Browser(scene: try await Self.scene(provider.configuration))
            _ = try await Self.signIn(&browser, provider)
            _ = try await browser.get("/console/p/demo")
            let answer = try await browser.post("/console/sign-out")
            #expect(answer.location == "/console/sign-in?out=1")
            let page = try await browser.get("/console/sign-in?out=1")
            let back = "http://127.0.0.1:8080/console/sign-in".urlEncoded
            let end = "\(provider.issuer)/end?client_id=herald%20console&amp;post_logout_redirect_uri=\(back)"
            #expect(page.text.contains(end))
            #expect(try await browser.get("/console/p/demo").status == 303)
        }
    }

    @Test func withoutAProviderThereIsNoWayToOne() async throws {
        var browser = Browser(scene: try await ConsoleScene())
        #expect(try await browser.get(Self.start).status == 404)
        #expect(try await browser.get("/console/sign-in").text.contains("Sign in with") == false)
    }

    // MARK: TLS

    @Test func aProvidersCertificateIsChecked() async throws {
        let directory = try TestDirectory()
        let (certificate, key) = (directory.file("tls.crt"), directory.file("tls.key"))
        let made = try await ChildProcess.run(
            "/usr/bin/openssl",
            [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1",
                "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1", "-out", certificate, "-keyout", key,
            ])
        try #require(made.status == 0)
        let tls = TLSConfiguration.makeServerConfiguration(
            certificateChain: try NIOSSLCertificate.fromPEMFile(certificate).map { .certificate($0) },
            privateKey: .privateKey(try NIOSSLPrivateKey(file: key, format: .pem)))
        try await SimulatedProvider.with(tls: tls) { provider in
            var configuration = provider.configuration
            var stranger = Browser(scene: try await Self.scene(configuration))
            #expect(try await stranger.get(Self.start).status == 502)
            configuration.trustFile = certificate
            var browser = Browser(scene: try await Self.scene(configuration))
            #expect(try await Self.signIn(&browser, provider).status == 303)
        }
    }

    @Test(arguments: [
        ("https://login.example.com", true), ("https://login.example.com:8443/realms/a", true),
        ("http://127.0.0.1:8080", true), ("http://localhost", true), ("http://login.example.com", false),
        ("login.example.com", false), ("https://login.example.com?a=b", false), ("https://u@login.example.com", false),
        ("http://127.0.0.1.evil.example", false),
    ])
    func secretsGoOverTLSOrStayOnTheMachine(issuer: String, isOne: Bool) {
        #expect(OIDCConfiguration.isIssuer(issuer) == isOne)
    }
}
