import Foundation
import NIOHTTP1

/// The control endpoint of a simulated Google: plain HTTP/1.1 on loopback.
///
/// | request | answer |
/// |---|---|
/// | `GET /messages[?after=N]` | the remembered messages with a number above N, NDJSON (``RecordedPush``) |
/// | `DELETE /messages` | forgets them, numbers start again |
/// | `GET /rules` | all rules by their names |
/// | `PUT /rules/{name}` | sets a rule (body: ``GoogleRule``); a name is a token, `abc*`, `default`, or `token-requests` |
/// | `DELETE /rules`, `DELETE /rules/{name}` | removes rules |
/// | `GET /scenarios`, `PUT /scenarios`, `DELETE /scenarios` | shows, replaces or removes the scenarios (``ScenarioSet``) |
struct GoogleControl: ControlResponder {
    let rules: GoogleRuleBook
    let scenarios: ScenarioBook
    let recording: Recording

    /// The reply to one request.
    func reply(to head: HTTPRequestHead, body: Data) -> ControlReply {
        guard isLocalHost(head.headers.first(name: "host")) else {
            return .error(.forbidden, "the Host must be local")
        }
        let parts = head.uri.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let path = parts[0].split(separator: "/").map(String.init)
        let name = path.count == 2 ? path[1].removingPercentEncoding ?? path[1] : ""
        do {
            switch (head.method, path.first, path.count) {
            case (.GET, "messages", 1):
                return try pushes(parts.count > 1 ? String(parts[1]) : "", in: recording)
            case (.DELETE, "messages", 1):
                recording.clear()
                return .done
            case (.GET, "rules", 1): return try .json(rules.rules)
            case (.DELETE, "rules", 1):
                rules.clear()
                return .done
            case (.PUT, "rules", 2): return set(body, for: name)
            case (.DELETE, "rules", 2):
                rules.set(nil, for: Self.ruleName(name))
                return .done
            case (_, "scenarios", 1):
                return try reply(toScenarios: head.method, body, in: scenarios) { set throws(SimulatorError) in
                    try set.ofAllServices()
                }
            default: return .error(.notFound, "there is /messages, /rules and /scenarios")
            }
        } catch {
            return .error(.internalServerError, "\(error)")
        }
    }

    private func set(_ body: Data, for name: String) -> ControlReply {
        do {
            rules.set(try JSONDecoder().decode(GoogleRule.self, from: body), for: Self.ruleName(name))
            return .done
        } catch let error as DecodingError {
            return .error(.badRequest, error.problem)
        } catch {
            return .error(.badRequest, "is not JSON")
        }
    }

    private static func ruleName(_ name: String) -> String {
        name == "token-requests" ? GoogleRuleBook.tokenRequests : name
    }
}
