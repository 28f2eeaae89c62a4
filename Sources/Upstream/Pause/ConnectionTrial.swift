/// What to do about refusals that another connection may cure: the connections are replaced, and what is refused again
/// on the new ones is the credential's fault. A value without clock or I/O.
///
/// Dispatches carry a generation that grows when connections are replaced, so that the late answers of the old ones
/// count for nothing.
struct ConnectionTrial {
    /// What to do about a refusal.
    enum Response: Hashable {
        /// Nothing: it comes from connections that are replaced already, and the push goes to the new ones.
        case none
        /// Replace the connections; ``replaced(generation:)`` follows.
        case replace
        /// Pause: new connections do not help.
        case pause
    }

    private enum Stage {
        /// No refusal since the last good answer. Next: trying.
        case calm
        /// The connections were replaced because of a refusal. Next: calm.
        case trying
    }

    private var stage = Stage.calm
    /// Dispatches of this generation or later go to the present connections.
    private var generation = 0

    /// Whether an answer of the new connections is awaited.
    var isTrying: Bool {
        switch stage {
        case .calm: false
        case .trying: true
        }
    }

    /// A push of this generation was refused.
    ///
    /// - Parameter mayReplace: whether the last replacement is long enough ago.
    mutating func refused(generation: Int, mayReplace: Bool) -> Response {
        guard generation >= self.generation else { return .none }
        switch stage {
        case .calm where mayReplace:
            stage = .trying
            return .replace
        case .calm, .trying:
            stage = .calm
            return .pause
        }
    }

    /// A push of this generation was answered without complaint about the credential.
    mutating func passed(generation: Int) {
        if generation >= self.generation { stage = .calm }
    }

    /// The connections were replaced, for whatever reason: this is the first generation of the new ones.
    mutating func replaced(generation: Int) {
        self.generation = generation
    }
}
