import Console
import Foundation
import PushModel
import Store
import TestSupport
import Testing

@testable import herald

/// `console.oidc` of the configuration.
struct OIDCConfigurationTests {
    private static func read(
        _ text: String, _ environment: [String: String] = [:], in directory: TestDirectory
    ) throws -> GatewayConfiguration {
        let path = directory.file("herald.yaml")
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        return try GatewayConfiguration.read(file: path, environment: environment)
    }

    @Test func everySettingIsTaken() throws {
        let directory = try TestDirectory()
        let secret = directory.file("secret")
        try PrivateFile(path: secret).write(Data("s3cret\n".utf8))
        let configuration = try Self.read(
            """
            publicURL: https://push.example.com
            console:
              oidc:
                issuer: https://login.example.com/realms/a
                clientID: herald
                clientSecretFile: \(secret)
                scopes: [profile, groups]
                operatorClaim: preferred_username
                rolesClaim: realm_access.roles
                roles:
                  - {value: push-admins, project: demo, role: admin}
            """, in: directory)
        var expected = OIDCConfiguration(
            issuer: "https://login.example.com/realms/a", clientID: "herald", clientSecret: "s3cret",
            name: "login.example.com")
        expected.scopes = ["profile", "groups"]
        expected.operatorClaim = "preferred_username"
        expected.rolesClaim = "realm_access.roles"
        expected.roles = [
            .init(value: "push-admins", project: try #require(ProjectID(rawValue: "demo")), role: .admin)
        ]
        #expect(configuration.console.oidc == expected)
        let shown = configuration.shownSettings.flatMap(\.rows)
        #expect(shown.contains(.init("console.oidc.issuer", expected.issuer)))
        #expect(!shown.contains { $0.value.contains("s3cret") })
    }

    @Test func theEnvironmentGivesTheSecret() throws {
        let directory = try TestDirectory()
        let configuration = try Self.read(
            "publicURL: https://push.example.com",
            [
                "HERALD_CONSOLE_OIDC_ISSUER": "https://login.example.com", "HERALD_CONSOLE_OIDC_CLIENT_ID": "herald",
                "HERALD_CONSOLE_OIDC_CLIENT_SECRET": "s3cret", "HERALD_CONSOLE_OIDC_NAME": "Example",
            ], in: directory)
        let expected = OIDCConfiguration(
            issuer: "https://login.example.com", clientID: "herald", clientSecret: "s3cret", name: "Example")
        #expect(configuration.console.oidc == expected)
        #expect(try Self.read("data: d", in: directory).console.oidc == nil)
    }

    @Test(arguments: [
        ("issuer: http://login.example.com, clientID: a", "issuer: \"http://login.example.com\" is no https URL"),
        ("clientID: a", "issuer: missing"), ("scopes: [email]", "issuer: missing"),
        ("issuer: https://login.example.com", "clientID: missing"),
        ("issuer: https://login.example.com, clientID: a, clientSecretFile: /no/where", "no such file"),
        (
            "issuer: https://login.example.com, clientID: a, clientSecret: b, clientSecretFile: c",
            "clientSecret is given too"
        ),
        ("issuer: https://login.example.com, clientID: a, rolesClaim: groups", "rolesClaim: needs roles"),
        (
            "issuer: https://login.example.com, clientID: a, roles: [{value: a, project: demo}]",
            "roles[0].role: missing"
        ),
        (
            "issuer: https://login.example.com, clientID: a, roles: [{value: a, project: demo, role: root}]",
            "\"root\" is not known; use one of viewer, sender, operator, admin"
        ),
        ("issuer: https://login.example.com, clientId: a", "unknown key; did you mean \"clientID\"?"),
    ])
    func eachMistakeIsTold(fields: String, problem: String) throws {
        let directory = try TestDirectory()
        let error = #expect(throws: ConfigurationError.self) {
            try Self.read("publicURL: https://push.example.com\nconsole: {oidc: {\(fields)}}", in: directory)
        }
        #expect(error?.description.contains(problem) == true, "\(error?.description ?? "")")
    }

    @Test func theProviderNeedsAWayBack() throws {
        let directory = try TestDirectory()
        let error = #expect(throws: ConfigurationError.self) {
            try Self.read("console: {oidc: {issuer: https://login.example.com, clientID: a}}", in: directory)
        }
        #expect(
            error?.description.hasSuffix(
                "console.oidc.issuer: needs publicURL, below which the provider sends browsers back") == true)
    }

    @Test func aSecretThatEveryUserCanReadIsNone() throws {
        let directory = try TestDirectory()
        let secret = directory.file("secret")
        try "s3cret".write(toFile: secret, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: NSNumber(value: 0o644)], ofItemAtPath: secret)
        let fields = "issuer: https://login.example.com, clientID: a, clientSecretFile: \(secret)"
        let error = #expect(throws: ConfigurationError.self) {
            try Self.read("publicURL: https://push.example.com\nconsole: {oidc: {\(fields)}}", in: directory)
        }
        #expect(error?.description.contains("is readable by every user") == true)
    }
}
