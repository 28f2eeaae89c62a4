import JSON
import PushModel
import Store

/// Who an ID token is of: an operator's name, and the roles that the provider gives.
struct OperatorClaims: Hashable, Sendable {
    /// The operator.
    let name: OperatorName
    /// The role in each project that a rule is for; `nil`: none there.
    let roles: [ProjectID: OperatorRole?]

    /// Reads claims as the configuration says.
    init(_ claims: JSONValue, _ configuration: OIDCConfiguration) throws(OIDCProblem) {
        let claim = configuration.operatorClaim
        guard let value = claims[claim]?.stringValue, !value.isEmpty else { throw .person(.missing(claim)) }
        // An address that is not checked can be anybody's.
        if claim == "email", !Self.isTrue(claims["email_verified"]) {
            throw .person(.unverified(String(value.prefix(100))))
        }
        guard let name = OperatorName(rawValue: value) else { throw .person(.notAName(String(value.prefix(100)))) }
        self.name = name
        let path = configuration.rolesClaim.split(separator: ".").map(String.init)
        let given = claims[configuration.rolesClaim] ?? path.reduce(claims as JSONValue?) { $0?[$1] }
        let values = Set(given?.texts ?? [])
        var roles: [ProjectID: OperatorRole?] = [:]
        for rule in configuration.roles {
            let before = roles[rule.project] ?? nil
            let given = values.contains(rule.value) ? rule.role : nil
            roles.updateValue([before, given].compactMap(\.self).max(), forKey: rule.project)
        }
        self.roles = roles
    }

    /// Some providers write the truth as a text.
    private static func isTrue(_ value: JSONValue?) -> Bool {
        value?.boolValue == true || value?.stringValue == "true"
    }
}
