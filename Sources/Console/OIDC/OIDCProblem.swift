import HTTPTypes
import Store

/// Why a provider of OpenID Connect did not sign an operator in.
enum OIDCProblem: Error, Hashable, Sendable {
    /// No answer that can be read: from where, and why.
    case unreachable(String, reason: String)
    /// The provider's description of itself, or its keys, can't be used.
    case description(String)
    /// The provider did not sign the operator in, or did not exchange the code: its word for it.
    case refused(String)
    /// The answer does not belong to a sign-in that this browser began lately, or was used before.
    case attempt
    /// Too many sign in at this moment.
    case busy
    /// The ID token does not count.
    case token(TokenProblem)
    /// Whom the token is of is not let in.
    case person(PersonProblem)

    /// What is wrong with an ID token.
    enum TokenProblem: Hashable, Sendable {
        /// It is no JWT, or a claim is missing or has the wrong type.
        case malformed(String)
        /// It is signed in a way that is not taken.
        case algorithm(String)
        /// None of the provider's keys is the one that it names.
        case unknownKey
        /// The key that it names did not sign it.
        case signature
        /// Somebody else issued it.
        case issuer
        /// It is for another application.
        case audience
        /// It is over, or not valid yet.
        case times
        /// It was made for another sign-in.
        case nonce
        /// It does not say that the operator proved just now who they are.
        case proof
    }

    /// Why somebody whom the provider knows is not let in.
    enum PersonProblem: Hashable, Sendable {
        /// The claim that is the operator's name is missing.
        case missing(String)
        /// The provider has not checked that the address is the operator's.
        case unverified(String)
        /// The claim can't be the name of an operator.
        case notAName(String)
        /// There is no operator of that name.
        case unknown(OperatorName)
        /// The operator was revoked.
        case revoked(OperatorName)
        /// No value of the roles' claim gives a role, and none was given here.
        case noRole(OperatorName)
        /// The session is of another operator.
        case another(OperatorName)
    }

    /// The status of the page that says so.
    var status: HTTPResponse.Status {
        switch self {
        case .unreachable, .description: .badGateway
        case .busy: .serviceUnavailable
        case .refused, .token: .unauthorized
        case .attempt: .badRequest
        case .person: .forbidden
        }
    }

    /// A sentence or two for the operator.
    ///
    /// - Parameter name: what the provider is called.
    func text(_ name: String) -> String {
        switch self {
        case .unreachable: "\(name) can’t be reached now. Try again in a moment, or sign in by a link."
        case .description(let text):
            "\(name) answers what this console can’t use: \(text). An admin has to look at console.oidc."
        case .refused("access_denied"): "\(name) did not sign you in: you, or a rule there, said no."
        case .refused("invalid_client"):
            "\(name) does not take this console’s ID and secret. An admin has to look at console.oidc.clientID and "
                + "clientSecret."
        case .refused(let word): "\(name) did not sign you in (\(word)). Begin again."
        case .attempt: "This sign-in is over, was used before, or began in another browser. Begin again."
        case .busy: "Too many are signing in at this moment. Try again."
        case .token(let problem): problem.text(name)
        case .person(let problem): problem.text(name)
        }
    }

    /// For the log: what exactly was wrong, without secrets.
    var reason: String {
        switch self {
        case .unreachable(let place, let reason): "no answer from \(place): \(reason)"
        default: "\(self)"
        }
    }
}

extension OIDCProblem.TokenProblem {
    fileprivate func text(_ name: String) -> String {
        switch self {
        case .malformed(let text): "The answer of \(name) can’t be read: \(text)."
        case .algorithm(let algorithm):
            "\(name) signs its answer with \(algorithm), which is not taken: it must sign with RS256, ES256 or another "
                + "algorithm with a public key."
        case .unknownKey: "The answer is signed with a key that \(name) does not publish. Try again in a minute."
        case .signature: "The signature of the answer is wrong: it does not come from \(name)."
        case .issuer: "The answer was issued by another provider than \(name)."
        case .audience:
            "The answer is for another application: console.oidc.clientID is not the ID under which \(name) knows this "
                + "console."
        case .times: "The answer is over or not valid yet. Begin again; if it stays so, compare the clocks."
        case .nonce: "The answer belongs to another sign-in. Begin again."
        case .proof: "\(name) did not ask you again who you are, so this is no proof."
        }
    }
}

extension OIDCProblem.PersonProblem {
    fileprivate func text(_ name: String) -> String {
        switch self {
        case .missing(let claim):
            "\(name) did not tell the claim \(claim), by which operators are known here. An admin has to look at "
                + "console.oidc.operatorClaim and scopes."
        case .unverified(let address): "\(name) has not checked yet that \(address) is your address."
        case .notAName(let value):
            "\(name) knows you as \(value), which can’t be an operator’s name: it has up to 64 letters, digits and ._@-."
        case .unknown(let operatorName):
            "\(name) knows you as \(operatorName), but there is no such operator here. An admin makes one: herald operator "
                + "create \(operatorName) --project … --role …"
        case .revoked(let operatorName):
            "The operator \(operatorName) was revoked. An admin can give you a role again: herald operator create "
                + "\(operatorName) --project … --role …"
        case .noRole(let operatorName):
            "\(name) knows you as \(operatorName), but gives you no role here. An admin has to look at your groups there, "
                + "or at console.oidc.roles."
        case .another(let operatorName):
            "You signed in there as \(operatorName), but this session is of another operator."
        }
    }
}
