package import PushModel
package import Store

/// `console.oidc` of the configuration: the provider of OpenID Connect by which operators sign in, and who is whom.
package struct OIDCConfiguration: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    /// The provider's identifier: a URL without query, below which its description is found. Compared letter by letter.
    package var issuer: String
    /// What the provider knows this console as.
    package var clientID: String
    /// What the console proves it with; `nil`: the provider asks for none, and PKCE alone protects the code.
    package var clientSecret: String?
    /// What operators call the provider: it stands on the button.
    package var name: String
    /// The scopes that are asked for beside `openid`.
    package var scopes = ["email"]
    /// The claim that is the operator's name.
    package var operatorClaim = "email"
    /// The claim whose values give roles; with dots also a path into the token, as `realm_access.roles`.
    package var rolesClaim = "groups"
    /// Which value gives which role. Empty: roles are given here alone.
    package var roles: [RoleRule] = []
    /// A PEM file of the authorities that the provider's certificate is checked with; `nil`: those of the system.
    package var trustFile: String?

    /// A value of the roles' claim and what it gives.
    package struct RoleRule: Hashable, Sendable {
        /// The value, mostly the name of a group.
        package var value: String
        /// In which project.
        package var project: ProjectID
        /// The role.
        package var role: OperatorRole

        /// Puts a rule together.
        package init(value: String, project: ProjectID, role: OperatorRole) {
            self.value = value
            self.project = project
            self.role = role
        }
    }

    /// Describes a provider.
    package init(issuer: String, clientID: String, clientSecret: String? = nil, name: String? = nil) {
        self.issuer = issuer
        self.clientID = clientID
        self.clientSecret = clientSecret
        self.name = name ?? WebAddress(issuer)?.host ?? issuer
    }

    /// Whether a text can be an issuer: https, or http on this machine, without query and fragment.
    package static func isIssuer(_ text: String) -> Bool {
        !text.contains("?") && !text.contains("#") && (WebAddress(text)?.isProtected ?? false)
    }

    /// The issuer: the secret is in no log.
    package var description: String { issuer }

    /// The issuer, for the same reason.
    package var customMirror: Mirror { Mirror(self, children: ["issuer": issuer]) }
}
