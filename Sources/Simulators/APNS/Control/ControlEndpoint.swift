import Foundation
import NIOHTTP1

/// The control endpoint: plain HTTP/1.1 on loopback, for tests in any language and for a look with curl.
///
/// | request | answer |
/// |---|---|
/// | `GET /pushes[?after=N]` | the remembered pushes with a number above N, NDJSON (``RecordedPush``) |
/// | `DELETE /pushes` | forgets them, numbers start again |
/// | `GET /rules` | all rules (``RuleSet``) |
/// | `PUT /rules/default`, `PUT /rules/{device token}` | sets a rule (body: ``Rule``) |
/// | `PUT /rules/management`, `PUT /rules/channels/{id}` | sets the rule of the management host, or of a channel |
/// | `DELETE /rules`, or any of these paths | removes rules |
/// | `GET /channels/{bundle id}` | the channels of an app (``ChannelBook/Entry``) |
/// | `DELETE /channels/{bundle id}/{id}` | deletes a channel, as another system would |
/// | `GET /scenarios` | the scenarios in force (``ScenarioSet``) |
/// | `PUT /scenarios` | replaces them (body: ``ScenarioSet``) |
/// | `DELETE /scenarios` | every connection is a good one again |
/// | `GET /statistics` | counts (``Statistics``) |
///
/// Errors are `{"error": "…"}`. Rules and scenarios set here live until the simulator ends.
struct ControlEndpoint: ControlResponder {
    let rules: RuleBook
    let scenarios: ScenarioBook
    let channels: ChannelBook
    let recording: Recording
    let tally: Tally

    /// The reply to one request.
    func reply(to head: HTTPRequestHead, body: Data) -> ControlReply {
        // A page in a browser must not reach the simulator through a name that it pointed at 127.0.0.1.
        guard isLocalHost(head.headers.first(name: "host")) else { return .error(.forbidden, "the Host must be local") }
        let parts = head.uri.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let path = parts[0].split(separator: "/").map(String.init)
        let query = parts.count > 1 ? String(parts[1]) : ""
        do {
            switch (head.method, path.first, path.count) {
            case (.GET, "pushes", 1): return try pushes(query, in: recording)
            case (.DELETE, "pushes", 1):
                recording.clear()
                return .done
            case (.GET, "rules", 1): return try .json(rules.ruleSet)
            case (.DELETE, "rules", 1):
                rules.clear()
                return .done
            case (.PUT, "rules", 2): return set(body, for: path[1])
            case (.DELETE, "rules", 2): return set(nil, for: path[1])
            case (.PUT, "rules", 3) where path[1] == "channels": return set(body, forChannel: path[2])
            case (.DELETE, "rules", 3) where path[1] == "channels": return set(nil, forChannel: path[2])
            case (.GET, "channels", 2): return try .json(channels.entries(of: path[1]))
            case (.DELETE, "channels", 3):
                let isFound = channels.remove(path[2].removingPercentEncoding ?? path[2], of: path[1])
                return isFound ? .done : .error(.notFound, "there is no such channel")
            case (_, "scenarios", 1): return try reply(toScenarios: head.method, body, in: scenarios)
            case (.GET, "statistics", 1): return try .json(tally.statistics)
            case (_, "pushes", 1), (_, "rules", 1...3), (_, "channels", 2...3), (_, "statistics", 1):
                return .error(.methodNotAllowed, "\(head.method.rawValue) is not possible here")
            default: return .error(.notFound, "there is /pushes, /rules, /channels, /scenarios and /statistics")
            }
        } catch {
            return .error(.internalServerError, "\(error)")
        }
    }

    private func set(_ body: Data?, for name: String) -> ControlReply {
        guard ["default", "management"].contains(name) || RuleSet.isDeviceToken(name) else {
            return .error(.badRequest, "\(name): must be 'default', 'management' or a device token in hex")
        }
        return withRule(body) { rule in
            switch name {
            case "default": rules.setDefault(rule)
            case "management": rules.setManagement(rule)
            default: rules.set(rule, for: name)
            }
        }
    }

    /// Sets the rule of a channel; its id stands in the path percent-encoded, since it may hold `/`.
    private func set(_ body: Data?, forChannel id: String) -> ControlReply {
        withRule(body) { rules.set($0, forChannel: id.removingPercentEncoding ?? id) }
    }

    /// Reads a rule, none from no body, and hands it on.
    private func withRule(_ body: Data?, _ use: (Rule?) -> Void) -> ControlReply {
        do {
            use(try body.map { try JSONDecoder().decode(Rule.self, from: $0) })
            return .done
        } catch let error as DecodingError {
            return .error(.badRequest, error.problem)
        } catch {
            return .error(.badRequest, "is not JSON")
        }
    }
}
