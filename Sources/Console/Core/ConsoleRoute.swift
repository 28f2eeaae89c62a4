import HTTPTypes
import Store

/// One row of the console's route table: method, path, who may, what happens.
struct ConsoleRoute: Sendable {
    /// The method: GET or POST.
    let method: HTTPRequest.Method
    /// The path below the project's, with captures in braces.
    let pattern: [String]
    /// The least role in the project that may use it.
    let role: OperatorRole
    /// Whether the operator has to prove first who they are, unless they did so lately.
    let needsProof: Bool
    /// What happens.
    let respond: @Sendable (ConsoleCall) async throws -> Reply

    /// A page.
    static func get(
        _ path: String, _ role: OperatorRole, _ respond: @escaping @Sendable (ConsoleCall) async throws -> Reply
    ) -> ConsoleRoute {
        ConsoleRoute(method: .get, path, role, needsProof: false, respond)
    }

    /// An act, by a form.
    static func post(
        _ path: String, _ role: OperatorRole, needsProof: Bool = false,
        _ respond: @escaping @Sendable (ConsoleCall) async throws -> Reply
    ) -> ConsoleRoute {
        ConsoleRoute(method: .post, path, role, needsProof: needsProof, respond)
    }

    private init(
        method: HTTPRequest.Method, _ path: String, _ role: OperatorRole, needsProof: Bool,
        _ respond: @escaping @Sendable (ConsoleCall) async throws -> Reply
    ) {
        self.method = method
        pattern = path.split(separator: "/").map(String.init)
        self.role = role
        self.needsProof = needsProof
        self.respond = respond
    }

    /// The captures of a path that fits; `nil`: it does not.
    func captures(of segments: some Collection<String>) -> [String: String]? {
        guard segments.count == pattern.count else { return nil }
        var captures: [String: String] = [:]
        for (part, segment) in zip(pattern, segments) {
            if part.hasPrefix("{") {
                captures[String(part.dropFirst().dropLast())] = segment
            } else if part != segment {
                return nil
            }
        }
        return captures
    }
}
