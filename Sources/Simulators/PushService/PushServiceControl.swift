import Foundation
import NIOCore
import NIOHTTP1

/// The control endpoint of a simulated push service: plain HTTP/1.1 on loopback.
///
/// | request | answer |
/// |---|---|
/// | `POST /subscriptions` | a new subscription (`PushSubscription.toJSON()`); body: nothing, or `{"applicationServerKey": "…"}` |
/// | `DELETE /subscriptions/{id}` | ends one; the id is the last part of its endpoint |
/// | `GET /pushes[?after=N]` | the remembered pushes with a number above N, NDJSON (``RecordedWebPush``) |
/// | `DELETE /pushes` | forgets them, numbers start again |
/// | `PUT /rules/default`, `PUT /rules/{id}` | sets a rule (body: ``PushServiceRule``) |
/// | `DELETE /rules`, `DELETE /rules/default`, `DELETE /rules/{id}` | removes rules |
///
/// Errors are `{"error": "…"}`.
struct PushServiceControl: ControlResponder {
    let subscriptions: SubscriptionBook
    let rules: PushServiceRules
    let recording: ArrivalLog<RecordedWebPush>

    func reply(to head: HTTPRequestHead, body: Data) -> ControlReply {
        // A page in a browser must not reach the simulator through a name that it pointed at 127.0.0.1.
        guard isLocalHost(head.headers.first(name: "host")) else { return .error(.forbidden, "the Host must be local") }
        let parts = head.uri.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let path = parts[0].split(separator: "/").map(String.init)
        switch (head.method, path.first, path.count) {
        case (.POST, "subscriptions", 1): return subscribe(body)
        case (.DELETE, "subscriptions", 2):
            return subscriptions.end(path[1]) ? .done : .error(.notFound, "there is no such subscription")
        case (.GET, "pushes", 1): return pushes(after: parts.count > 1 ? String(parts[1]) : "")
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
        default: return .error(.notFound, "there is /subscriptions, /pushes and /rules")
        }
    }

    private func subscribe(_ body: Data) -> ControlReply {
        var key: [UInt8]?
        if !body.isEmpty {
            // What is no JSON has no key.
            let object = (try? JSONSerialization.jsonObject(with: body)) as? [String: String]
            key = object?["applicationServerKey"].flatMap { bytes(base64URL: $0) }
            guard key?.count == 65 else {
                return .error(.badRequest, "applicationServerKey must be 65 bytes in base64url")
            }
        }
        let subscription = subscriptions.subscribe(applicationKey: key)
        do {
            return ControlReply(
                status: .ok,
                body: try JSONSerialization.data(
                    withJSONObject: subscription.json, options: [.sortedKeys, .withoutEscapingSlashes]))
        } catch {
            return .error(.internalServerError, "\(error)")
        }
    }

    private func pushes(after query: String) -> ControlReply {
        var after = 0
        if !query.isEmpty {
            guard query.hasPrefix("after="), let number = Int(query.dropFirst("after=".count)), number >= 0 else {
                return .error(.badRequest, "the query can only be after=N, N being a push's number")
            }
            after = number
        }
        do {
            return ControlReply(
                status: .ok, contentType: "application/x-ndjson",
                body: try NDJSON.encode(recording.pushes(after: after)))
        } catch {
            return .error(.internalServerError, "\(error)")
        }
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
