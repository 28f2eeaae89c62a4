package import PushModel

/// An operator in one project, as one request of the console uses the API.
package struct OperatorUse: Hashable, Sendable {
    /// Who.
    package var name: OperatorName
    /// In which project.
    package var project: ProjectID
    /// What they may do there.
    package var role: OperatorRole
    /// The IP address that the request came from.
    package var address: String?

    /// Puts a use together.
    package init(name: OperatorName, project: ProjectID, role: OperatorRole, address: String?) {
        self.name = name
        self.project = project
        self.role = role
        self.address = address
    }

    /// What messages and audit entries keep of it.
    package var credential: CredentialUse {
        CredentialUse(id: CredentialUse.id(of: name), name: name.rawValue, role: role.stored, address: address)
    }
}

extension CredentialUse {
    private static let operatorPrefix = "operator:"

    /// The id of what an operator does in the console.
    package static func id(of name: OperatorName) -> String { operatorPrefix + name.rawValue }

    /// Whether an operator did it in the console.
    package var isOperator: Bool { id.hasPrefix(Self.operatorPrefix) }
}
