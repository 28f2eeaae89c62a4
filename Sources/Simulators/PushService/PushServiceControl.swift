import Foundation
import NIOCore
import NIOHTTP1

/// The control endpoint of a simulated push service: plain HTTP/1.1 on loopback.
///
/// | request | answer |
/// |---|---|
/// | `POST /subscriptions` | a new subscription (`PushSubscription.toJSON()`); body: nothing, or `{"applicationServerKey": "…", "bridged": true}` |
/// | `DELETE /subscriptions/{id}` | ends one; the id is the last part of its endpoint |
/// | `GET /pushes[?after=N]` | the remembered pushes with a number above N, NDJSON (``RecordedWebPush``) |
/// | `DELETE /pushes` | forgets them, numbers start again |
/// | `PUT /rules/default`, `PUT /rules/{id}` | sets a rule (body: ``PushServiceRule``) |
/// | `DELETE /rules`, `DELETE /rules/default`, `DELETE /rules/{id}` | removes rules |
/// | `GET /scenarios`, `PUT /scenarios`, `DELETE /scenarios` | shows, replaces or removes the scenarios (``ScenarioSet``) |
///
/// Errors are `{"error": "…"}`.
struct PushServiceControl: ControlResponder {
    let subscriptions: SubscriptionBook
    let rules: PushServiceRules
    let scenarios: ScenarioBook
    let recording: ArrivalLog<RecordedWebPush>

    func reply(to head: HTTPRequestHead, body: Data) -> ControlReply {
        // A page in a browser must not reach the simulator through a name that it pointed at 127.0.0.1.
        guard isLocalHost(head.headers.first(name: "host")) else { return .error(.forbidden, "the Host must be local") }
        let parts = head.uri.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let path = parts[0].split(separator: "/").map(String.init)
        do {
            return try reply(to: head.method, path, query: parts.count > 1 ? String(parts[1]) : "", body)
        } catch {
            return .error(.internalServerError, "\(error)")
        }
    }

    private func reply(
        to method: HTTPMethod, _ path: [String], query: String, _ body: Data
    ) throws -> ControlReply {
        switch (method, path.first, path.count) {
        case (.POST, "subscriptions", 1): return try subscribe(body)
        case (.DELETE, "subscriptions", 2):
            return subscriptions.end(path[1]) ? .done : .error(.notFound, "there is no such subscription")
        case (.GET, "pushes", 1): return try pushes(query, in: recording)
        case (.DELETE, "pushes", 1):
            recording.clear()
            return .done
        case (.DELETE, "rules", 1):
            rules.clear()
            return .done
        case (.PUT, "rules", 2): return set(body, for: path[1])
        case (.DELETE, "rules", 2):
            path[1] == "default" ? rules.setDefault(nil) : rules.set(nil, for: path[1])
            return .done
        case (_, "scenarios", 1):
            return try reply(toScenarios: method, body, in: scenarios) { set throws(SimulatorError) in
                try set.ofAllServices()
            }
        default: return .error(.notFound, "there is /subscriptions, /pushes, /rules and /scenarios")
        }
    }

    /// What a page asks for.
    private struct Wish: Decodable {
        var applicationServerKey: String?
        var bridged: Bool?

        enum CodingKeys: String, CodingKey, CaseIterable {
            case applicationServerKey, bridged
        }

        init() {}

        init(from decoder: any Decoder) throws {
            try decoder.refuseKeys(except: CodingKeys.allCases)
            let values = try decoder.container(keyedBy: CodingKeys.self)
            applicationServerKey = try values.decodeIfPresent(String.self, forKey: .applicationServerKey)
            bridged = try values.decodeIfPresent(Bool.self, forKey: .bridged)
        }
    }

    private func subscribe(_ body: Data) throws -> ControlReply {
        let wish: Wish
        do {
            wish = try body.isEmpty ? Wish() : JSONDecoder().decode(Wish.self, from: body)
        } catch let error as DecodingError {
            return .error(.badRequest, error.problem)
        }
        let key = wish.applicationServerKey.flatMap { bytes(base64URL: $0) }
        guard key?.count == 65 || body.isEmpty || wish.applicationServerKey == nil && wish.bridged != nil else {
            return .error(.badRequest, "applicationServerKey must be 65 bytes in base64url")
        }
        let subscription = subscriptions.subscribe(applicationKey: key, isBridged: wish.bridged ?? false)
        return ControlReply(
            status: .ok,
            body: try JSONSerialization.data(
                withJSONObject: subscription.json, options: [.sortedKeys, .withoutEscapingSlashes]))
    }

    private func set(_ body: Data, for name: String) -> ControlReply {
        do {
            let rule = try JSONDecoder().decode(PushServiceRule.self, from: body)
            name == "default" ? rules.setDefault(rule) : rules.set(rule, for: name)
            return .done
        } catch let error as DecodingError {
            return .error(.badRequest, error.problem)
        } catch {
            return .error(.badRequest, "is not JSON")
        }
    }
}
