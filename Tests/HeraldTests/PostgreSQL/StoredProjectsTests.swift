#if PostgreSQL
    import Crypto
    import Foundation
    import Logging
    import PushModel
    import Simulators
    import Store
    import TestSupport
    import Testing

    @testable import herald

    /// Gateways as processes that have their projects from the database that they share.
    @Suite(.timeLimit(.minutes(5)), .heavy, .serialized, .enabled(if: PostgreSQLServer.isInstalled))
    struct StoredProjectsTests {
        /// A database of its own, a key for its secrets, and a configuration whose projects are there.
        private struct Scene {
            let test: GatewayUnderTest
            let database: String
            var secretsKey = Self.makeKey()

            static func makeKey() -> String {
                Data((0..<32).map { _ in UInt8.random(in: 0...255) }).base64EncodedString()
            }

            var environment: [String: String] {
                ["HERALD_PROJECTS": "database", "HERALD_SECRETS_KEY": secretsKey]
            }

            /// The project file that the simulator's key is for.
            var demo: String { test.directory.file("projects/demo.yaml") }

            func start() async throws -> GatewayProcess { try await test.start(environment: environment) }

            func run(
                _ arguments: String..., environment: [String: String]? = nil
            ) async throws -> (status: Int32, lines: [String]) {
                let ended = try await GatewayProcess.run(
                    arguments + ["--config", test.configuration], environment: environment ?? self.environment)
                return (ended.status, ended.lines.filter { !$0.isEmpty })
            }

            /// Applies project files, which has to work.
            func apply(_ arguments: String...) async throws {
                let ended = try await GatewayProcess.run(
                    ["project", "apply"] + arguments + ["--config", test.configuration], environment: environment)
                #expect(ended.status == 0, "\(ended.lines)")
            }

            /// Writes `name.yaml`, the demo's file with some texts replaced.
            func write(_ name: String, replacing texts: [String: String]) throws -> String {
                var text = try String(contentsOfFile: demo, encoding: .utf8)
                for (old, new) in texts { text = text.replacing(old, with: new) }
                let path = test.directory.file("\(name).yaml")
                try PrivateFile(path: path).write(Data(text.utf8))
                return path
            }

            /// The version that a node of the list has in force, and what it says of a newer one, by node.
            func standings() async throws -> [[String: Any]] {
                try await run("node", "list", "--json").lines.map { line in
                    try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any] ?? [:]
                }
            }
        }

        private static func with(
            otherKeys: [AcceptedProviderKey] = [], _ body: (Scene) async throws -> Void
        ) async throws {
            let database = try await PostgreSQLServer.shared().makeDatabase()
            try await GatewayUnderTest.with(
                settings: "store:\n  url: '\(database)'\nlimits:\n  shutdownSeconds: 1", otherKeys: otherKeys
            ) { test in
                try await body(Scene(test: test, database: database))
            }
        }

        /// A version in force on a node.
        private static func expect(_ version: Int, on node: GatewayProcess) async {
            #expect(await node.line(containing: "stored projects taken over projects=") != nil)
            #expect(await node.line(containing: " version=\(version)") != nil, "\(node.lines)")
        }

        /// Sends to a device that is registered for it, and gives the push.
        private static func push(
            _ number: Int, from node: GatewayProcess, to other: GatewayProcess, _ test: GatewayUnderTest
        ) async throws -> RecordedPush {
            let token = try await APIClient(baseURL: other.baseURL, key: test.keys.admin)
                .register(deviceToken: String(number))
            let before = test.simulator.recording.count
            let sent = try await APIClient(baseURL: node.baseURL, key: test.keys.sender).post(
                "/v1/projects/demo/messages:send",
                #"{"message":{"token":"\#(token)","notification":{"title":"Hi"}}}"#)
            #expect(sent.status == 200, "\(sent.text)")
            await test.simulator.recording.wait(untilCount: before + 1)
            return try #require(test.simulator.recording.pushes.last)
        }

        /// The provider keys, as `TEAM/KEY`, for which a node has connections.
        private static func connectedKeys(of node: GatewayProcess) async throws -> [String] {
            let text = try await APIClient(baseURL: node.baseURL, key: "").get("/metrics").text
            return text.matches(of: /herald_upstream_connections\{upstream="\S+ (\w+\/\w+)[^"]*"\} [1-9]/).map {
                String($0.output.1)
            }
        }

        /// Keys and certificates come with the projects, a project is added and a credential replaced while two nodes run,
        /// and what was stored can be looked at and taken back.
        @Test func allNodesTakeWhatIsStored() async throws {
            let second = P256.Signing.PrivateKey()
            let accepted = AcceptedProviderKey(
                teamID: "SECONDTEAM", keyID: "SECONDKEY1", publicKey: second.publicKey)
            try await Self.with(otherKeys: [accepted]) { scene in
                let (test, identity) = (scene.test, scene.test.identity)
                // The originals are not there any more when nodes start.
                let keyFile = test.directory.file("AuthKey_\(identity.keyID).p8")
                try FileManager.default.copyItem(atPath: identity.keyFile, toPath: keyFile)
                try FileManager.default.copyItem(atPath: identity.caFile, toPath: test.directory.file("ca.pem"))
                let demo = try scene.write(
                    "demo", replacing: [identity.keyFile: keyFile, identity.caFile: test.directory.file("ca.pem")])
                try await scene.apply(demo)
                try FileManager.default.removeItem(atPath: keyFile)
                try FileManager.default.removeItem(atPath: test.directory.file("ca.pem"))
                let nodes = [try await scene.start(), try await scene.start()]
                _ = try await Self.push(1, from: nodes[0], to: nodes[1], test)
                #expect(
                    try await Self.connectedKeys(of: nodes[0]) == ["\(identity.teamID)/\(identity.keyID)"])

                let shop = try scene.write(
                    "shop",
                    replacing: [
                        "project: demo": "project: shop", "123456789012": "7", "com.example.app": "com.example.shop",
                    ])
                try await scene.apply(shop)
                let stored = ContinuousClock.now
                for node in nodes { await Self.expect(2, on: node) }
                // Long before nodes look without a word, once a minute.
                #expect(ContinuousClock.now - stored < .seconds(20))
                let made = try await scene.run("key", "create", "--project", "shop", "--role", "admin")
                let key = try #require(made.lines.last)
                for node in nodes {
                    let answer = try await APIClient(baseURL: node.baseURL, key: key).get("/v1/projects/shop/topics")
                    #expect(answer.status == 200, "\(answer.text)")
                }

                try PrivateFile(path: test.directory.file("AuthKey_SECONDKEY1.p8"))
                    .write(Data(second.pemRepresentation.utf8))
                let other = try scene.write(
                    "demo",
                    replacing: [
                        "team: \(identity.teamID)": "team: SECONDTEAM",
                        identity.keyFile: test.directory.file("AuthKey_SECONDKEY1.p8"),
                    ])
                try await scene.apply(other)
                for node in nodes { await Self.expect(3, on: node) }
                for (number, node) in nodes.enumerated() {
                    _ = try await Self.push(10 + number, from: node, to: nodes[0], test)
                    let keys = try await Self.connectedKeys(of: node)
                    #expect(keys.contains("SECONDTEAM/SECONDKEY1"), "\(keys)")
                }

                try await Self.expectReports(scene)
                let back = try await scene.run("project", "rollback", "1")
                #expect(back.status == 0 && back.lines.contains("shop: removed"), "\(back.lines)")
                for node in nodes { await Self.expect(4, on: node) }
                let answer = try await APIClient(baseURL: nodes[1].baseURL, key: key).get("/v1/projects/shop/topics")
                #expect(answer.status == 403, "\(answer.text)")
                for node in nodes { #expect(await node.end(with: SIGTERM) == 0) }
            }
        }

        /// What commands say of three versions of `demo` and `shop`.
        private static func expectReports(_ scene: Scene) async throws {
            let list = try await scene.run("project", "list")
            #expect(list.lines.contains { $0.hasPrefix("shop") && $0.contains("com.example.shop") }, "\(list.lines)")
            let shown = try await scene.run("project", "show", "demo")
            #expect(shown.lines.contains { $0.contains("team: SECONDTEAM") })
            #expect(!shown.lines.contains { $0.contains("PRIVATE KEY") })
            let history = try await scene.run("project", "history", "--json")
            #expect(history.lines.map { $0.contains("\"what\":\"apply ") } == [true, true, true])
            let audit = try await scene.run("audit", "--action", "project.apply", "--json")
            #expect(audit.lines.count { $0.contains(#""version":"3""#) && $0.contains(#""change":"changed""#) } == 1)
            #expect(audit.lines.count == 3)
            // Nothing of the keys stands in the database as text.
            let sealed = try await PostgreSQLServer.shared().execute(
                "SELECT count(*) FROM stored_project WHERE position('PRIVATE KEY'::bytea IN sealed) > 0",
                in: scene.database)
            #expect(sealed == ["0"])
        }

        /// A file with a mistake is told as a configuration's is, and nothing of it is stored.
        @Test func aFileWithAMistakeChangesNothing() async throws {
            try await Self.with { scene in
                let empty = try await scene.run("project", "list")
                #expect(empty.lines.last?.contains("herald project apply FILE") == true)
                try await scene.apply(scene.demo)
                let wrong = try scene.write("wrong", replacing: ["team:": "tema:"])
                let refused = try await scene.run("project", "apply", wrong)
                #expect(refused.status == 78)
                #expect(
                    refused.lines.contains {
                        $0.contains("wrong.yaml:7: apps[0].apns.tema: unknown key; did you mean \"team\"?")
                    }, "\(refused.lines)")
                let same = try await scene.run("project", "apply", scene.demo)
                #expect(same.lines.last == "Nothing is different.")
                #expect(try await scene.run("project", "history", "--json").lines.count == 1)
                let files = try await scene.run(
                    "project", "list", environment: ["HERALD_SECRETS_KEY": scene.secretsKey])
                #expect(files.status == 78 && files.lines.last?.contains("projects: database") == true)
            }
        }

        /// A version that a node can't take, as one with a field that only a newer program knows, leaves the one before in
        /// force there; the log, the metrics and the list of nodes say so.
        @Test func aNodeKeepsTheVersionThatItKnows() async throws {
            try await Self.with { scene in
                try await scene.apply(scene.demo)
                let node = try await scene.start()
                try await Self.storeUnknownField(scene)
                #expect(await node.line(containing: "the version before stays in force") != nil)
                let metrics = try await APIClient(baseURL: node.baseURL, key: "").get("/metrics").text
                #expect(metrics.contains("herald_projects_version 1\n"))
                #expect(metrics.contains("herald_projects_refused_version 2\n"))
                _ = try await Self.push(1, from: node, to: node, scene.test)
                let standing = try await Self.standing(scene) { $0["projectsProblem"] != nil }
                #expect(standing["projectsVersion"] as? Int == 1)
                let problem = try #require(standing["projectsProblem"] as? String)
                #expect(problem.hasPrefix("version 2: ") && problem.contains("colour: unknown key"), "\(problem)")
                let doctor = try await scene.run("doctor")
                #expect(doctor.lines.contains { $0.contains("colour: unknown key") }, "\(doctor.lines)")

                try await scene.apply("--all", scene.demo)
                await Self.expect(3, on: node)
                let next = try await Self.standing(scene) { $0["projectsVersion"] as? Int == 3 }
                #expect(next["projectsProblem"] == nil)
                #expect(await node.end(with: SIGTERM) == 0)
            }
        }

        /// What the node of the list says, as soon as that is so.
        private static func standing(
            _ scene: Scene, when isSo: ([String: Any]) -> Bool
        ) async throws -> [String: Any] {
            while true {
                // The command has no signal: it is asked again, as its users do.
                if let node = try await scene.standings().first, isSo(node) { return node }
            }
        }

        /// Stores a version as a newer program would.
        private static func storeUnknownField(_ scene: Scene) async throws {
            var configuration = GatewayConfiguration()
            configuration.database = GatewayConfiguration.SharedDatabase(url: scene.database)
            configuration.projectsDirectory = GatewayConfiguration.storedProjectsWord
            configuration.secretsKeys = SecretsKeys(environment: scene.environment)
            let seal = try configuration.secretsKeys.seal()
            let number = try await configuration.withProjectStore { store throws(StoreError) in
                do {
                    guard let before = try await store.storedProjects() else { return nil as Int64? }
                    let projects = try before.projects.map { project in
                        var newer = project
                        newer.text += "\ncolour: red\n"
                        return try seal.sealing(seal.files(of: project), of: newer)
                    }
                    return try await store.store(
                        NewProjectVersion(
                            projects: projects, base: before.version, note: "by a newer program", program: "9.0",
                            keyCheck: try seal.keyCheck(), credential: .command, changes: [:]))
                } catch let error as StoreError {
                    throw error
                } catch {
                    throw StoreError(.failed, "\(error)")
                }
            }
            #expect(number == 2)
        }

        /// Without the right key a gateway does not begin, and says which variable is wrong; with the key before it another
        /// one takes its place.
        @Test func aWrongKeyEndsTheStart() async throws {
            try await Self.with { scene in
                try await scene.apply(scene.demo)
                var other = scene
                other.secretsKey = Scene.makeKey()
                let wrong = try await scene.run("serve", environment: other.environment)
                // Not as a wrong configuration: a supervisor tries again, and finds a version that it can take perhaps.
                #expect(wrong.status == 75)
                #expect(wrong.lines.count { $0.hasPrefix("herald: ") } == 1, "\(wrong.lines)")
                #expect(
                    wrong.lines.contains { $0.hasPrefix("herald: HERALD_SECRETS_KEY: is another key than the one") })
                let missing = try await scene.run("serve", environment: ["HERALD_PROJECTS": "database"])
                #expect(missing.status == 78)
                #expect(
                    missing.lines.contains { $0.hasPrefix("herald: HERALD_SECRETS_KEY: not set;") }, "\(missing.lines)")

                let both = other.environment.merging(["HERALD_SECRETS_KEY_FORMER": scene.secretsKey]) { own, _ in own }
                let sealed = try await scene.run("project", "reseal", environment: both)
                #expect(sealed.status == 0 && sealed.lines.last?.hasPrefix("1 versions are sealed") == true)
                let node = try await other.start()
                _ = try await Self.push(1, from: node, to: node, scene.test)
                #expect(await node.end(with: SIGTERM) == 0)
            }
        }

        /// A node that has not got the new key says so as soon as all is sealed with it, not when it starts the next time; what
        /// it has in force stays.
        @Test func aNodeWithoutTheNewKeySaysSo() async throws {
            try await Self.with { scene in
                try await scene.apply(scene.demo)
                let node = try await scene.start()
                var other = scene
                other.secretsKey = Scene.makeKey()
                let new = other.environment.merging(["HERALD_SECRETS_KEY_FORMER": scene.secretsKey]) { own, _ in own }
                #expect(try await scene.run("project", "reseal", environment: new).status == 0)
                #expect(await node.line(containing: "what is in force stays") != nil)
                let metrics = try await APIClient(baseURL: node.baseURL, key: "").get("/metrics").text
                #expect(metrics.contains("herald_projects_version 1\n"))
                #expect(metrics.contains("herald_projects_refused_version 1\n"))
                _ = try await Self.push(1, from: node, to: node, scene.test)
                let standing = try await Self.standing(scene) { $0["projectsProblem"] != nil }
                let problem = try #require(standing["projectsProblem"] as? String)
                #expect(problem.hasPrefix("version 1: HERALD_SECRETS_KEY: is another key"), "\(problem)")

                // Nor is a version stored with the key that nodes are to have no more.
                let stale = try await scene.run("project", "apply", "--all", scene.demo)
                #expect(stale.status == 78 && stale.lines.last?.contains("--new-key") == true, "\(stale.lines)")
                let back = scene.environment.merging(["HERALD_SECRETS_KEY_FORMER": other.secretsKey]) { own, _ in own }
                #expect(try await scene.run("project", "reseal", environment: back).status == 0)
                let solved = try await Self.standing(scene) { $0["projectsProblem"] == nil }
                #expect(solved["projectsVersion"] as? Int == 1)
                #expect(await node.end(with: SIGTERM) == 0)
            }
        }

        /// Before the first project is stored a gateway runs and says what to do; then it serves.
        @Test func aGatewayWithoutProjectsWaitsForThem() async throws {
            try await Self.with { scene in
                let node = try await scene.start()
                #expect(await node.line(containing: "herald project apply FILE stores them") != nil)
                try await scene.apply(scene.demo)
                await Self.expect(1, on: node)
                _ = try await Self.push(1, from: node, to: node, scene.test)
                #expect(await node.end(with: SIGTERM) == 0)
            }
        }
    }
#endif
