import PushModel

/// A credential, as one request or command used it: what messages and audit entries keep of who asked for them.
package struct CredentialUse: Hashable, Sendable {
    /// The public id of an API key, or the email of a service account; ``commandID`` and ``gatewayID`` otherwise.
    package var id: String
    /// The name of the key; of a command the name of the user who ran it.
    package var name: String?
    /// What it may do; `nil`: a command on the machine of the store, or the gateway itself.
    package var role: Role?
    /// The IP address that the request came from, as the outermost proxy of ours saw it.
    package var address: String?

    /// The id of commands that work on the store.
    package static let commandID = "command"
    /// The id of what the gateway does by itself.
    package static let gatewayID = "gateway"

    /// The gateway itself.
    package static let gateway = CredentialUse(id: gatewayID)

    /// Puts a use together.
    package init(id: String, name: String? = nil, role: Role? = nil, address: String? = nil) {
        self.id = id
        self.name = name
        self.role = role
        self.address = address
    }
}

/// What a change of a registration is made with: who asked, and what they proved beside it. It holds no secret.
package struct ProvenCredential: Hashable, Sendable {
    /// Who asked.
    package var use: CredentialUse
    /// What was proven beside the credential: `installation:` with the FID, `customToken:` with the account that signed it;
    /// `import` for a row of a file.
    package var proofs: [String]

    /// Puts a credential together.
    package init(_ use: CredentialUse, proofs: [String] = []) {
        self.use = use
        self.proofs = proofs
    }

    /// `apiKey:ID installation:FID customToken:EMAIL`, as the audit of a registration shows it.
    package var text: String {
        let kind = use.role == nil || use.isOperator ? "" : use.id.contains("@") ? "serviceAccount:" : "apiKey:"
        return ([kind + use.id] + proofs).joined(separator: " ")
    }
}

/// What an API key may do.
package enum Role: String, Hashable, Sendable, CaseIterable {
    /// Everything in its project.
    case admin
    /// Send, and read reports.
    case sender
    /// Register, and change, subscribe or end a registration whose token it presents.
    case client
}
