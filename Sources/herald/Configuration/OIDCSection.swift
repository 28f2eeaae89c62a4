import Console
import Foundation
import PushModel
import Store

/// Reads `console.oidc`: the provider by which operators sign in.
struct OIDCSection {
    static let path = "console.oidc"

    let settings: SettingsReader

    /// Reads the section; `nil` when nothing is in it, or after a problem.
    ///
    /// - Parameter isReachable: whether there is a URL that the provider can send browsers back to.
    func read(isReachable: Bool, problems: inout [ConfigurationProblem]) -> OIDCConfiguration? {
        let issuer = text("issuer", problems: &problems)
        let clientID = text("clientID", problems: &problems)
        let secret = secret(problems: &problems)
        let name = text("name", problems: &problems)
        let claims = (text("operatorClaim", problems: &problems), text("rolesClaim", problems: &problems))
        let scopes = scopes(problems: &problems)
        let rules = rules(problems: &problems)
        let trust = trustFile(problems: &problems)
        guard let issuer else {
            if [clientID, secret, name, claims.0, claims.1, trust].contains(where: { $0 != nil }) || scopes != nil
                || !rules.isEmpty
            {
                problems.append(problem("issuer", "missing; add \"issuer: https://login.example.com\""))
            }
            return nil
        }
        guard OIDCConfiguration.isIssuer(issuer) else {
            problems.append(
                problem(
                    "issuer", "\"\(issuer)\" is no https URL; take the issuer that the provider names, letter by letter"
                ))
            return nil
        }
        guard let clientID else {
            problems.append(problem("clientID", "missing; the provider gives one when the console is registered there"))
            return nil
        }
        if !isReachable {
            problems.append(problem("issuer", "needs publicURL, below which the provider sends browsers back"))
        }
        if claims.1 != nil, rules.isEmpty {
            problems.append(problem("rolesClaim", "needs roles: a list of value, project and role"))
        }
        var configuration = OIDCConfiguration(issuer: issuer, clientID: clientID, clientSecret: secret, name: name)
        configuration.operatorClaim = claims.0 ?? configuration.operatorClaim
        configuration.rolesClaim = claims.1 ?? configuration.rolesClaim
        configuration.scopes = scopes ?? configuration.scopes
        configuration.roles = rules
        configuration.trustFile = trust
        return configuration
    }

    private func text(_ key: String, problems: inout [ConfigurationProblem]) -> String? {
        settings.optionalText("\(Self.path).\(key)", problems: &problems)
    }

    private func problem(_ key: String, _ text: String) -> ConfigurationProblem {
        let field = "\(Self.path).\(key)"
        return ConfigurationProblem(settings.place(field), field: field, text)
    }

    /// The secret itself, mostly from the environment, or the first line of its file.
    private func secret(problems: inout [ConfigurationProblem]) -> String? {
        let given = text("clientSecret", problems: &problems)
        guard let path = text("clientSecretFile", problems: &problems) else { return given }
        guard given == nil else {
            problems.append(problem("clientSecretFile", "clientSecret is given too; remove one"))
            return nil
        }
        do {
            let content = try ConfigurationFile.text(of: path, in: path)
            if PrivateFile(path: path).isReadableByOthers {
                problems.append(
                    problem(
                        "clientSecretFile",
                        "\(path) is readable by every user, so what is in it is no secret; chmod 600 \(path)"))
            }
            let secret = content.trimmingCharacters(in: .whitespacesAndNewlines)
            if secret.isEmpty { problems.append(problem("clientSecretFile", "\(path): nothing in it")) }
            return secret
        } catch {
            problems.append(problem("clientSecretFile", error.text))
            return nil
        }
    }

    /// `nil`: they are not given.
    private func scopes(problems: inout [ConfigurationProblem]) -> [String]? {
        let items = settings.items("\(Self.path).scopes", problems: &problems)
        for item in items where item.text.contains(where: \.isWhitespace) {
            problems.append(item.problem("\"\(item.text)\" is no scope; write one a line"))
        }
        return items.isEmpty ? nil : items.map(\.text)
    }

    private func rules(problems: inout [ConfigurationProblem]) -> [OIDCConfiguration.RoleRule] {
        let field = "\(Self.path).roles"
        return settings.sections(field, problems: &problems).compactMap { section in
            section.refuseUnknownKeys(known: GatewayConfiguration.lists[field] ?? [], problems: &problems)
            let value = section.requiredText("value", example: "push-admins", problems: &problems)
            let project = section.requiredText("project", example: "demo", problems: &problems)
            let role = section.choice("role", of: OperatorRole.self, problems: &problems)
            if role == nil, !section.has("role") {
                problems.append(section.problem("role", "missing; add \"role: viewer\""))
            }
            guard let value, let project, let role else { return nil }
            guard let id = ProjectID(rawValue: project) else {
                problems.append(section.problem("project", "\"\(project)\" is no project's id"))
                return nil
            }
            return OIDCConfiguration.RoleRule(value: value, project: id, role: role)
        }
    }

    private func trustFile(problems: inout [ConfigurationProblem]) -> String? {
        guard let path = text("trust", problems: &problems), path != "system" else { return nil }
        do {
            let text = try ConfigurationFile.text(of: path, in: path)
            if !text.contains("-----BEGIN CERTIFICATE-----") {
                problems.append(problem("trust", "\(path): no PEM certificate in it"))
            }
        } catch {
            problems.append(problem("trust", error.text))
        }
        return path
    }
}
