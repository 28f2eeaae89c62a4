import Foundation

/// The gateway's API as an app sees it.
struct LinkGateway: Sendable {
    let options: HeraldLinksOptions
    let transport: any LinkTransport

    /// Posts a request to `/v1/<method>`; throws when there was no answer.
    ///
    /// The key travels in a header and not in the query, where Firebase's SDK has it: proxies keep queries in their logs.
    func post(_ request: some Encodable, to method: String) async throws(DynamicLinksError) -> Answer {
        var headers = ["Content-Type": "application/json", "Accept": "application/json"]
        headers["X-Goog-Api-Key"] = options.apiKey
        headers["X-Ios-Bundle-Identifier"] = options.bundleID
        do {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            let body = try encoder.encode(request)
            let url = options.host.appending(path: "v1/\(method)")
            return Answer(try await transport.post(body, to: url, headers: headers))
        } catch {
            throw DynamicLinksError(.unreachable, "The gateway did not answer.", underlying: error)
        }
    }

    /// An answer and, where it is one, its JSON object.
    struct Answer {
        let status: Int
        let object: JSONObject?
        /// Whether the body is JSON at all, an object or not.
        let isJSON: Bool

        init(_ response: LinkResponse) {
            status = response.status
            // What can't be parsed is no JSON: that is the question here, not why.
            let value = try? JSONSerialization.jsonObject(with: response.body, options: .fragmentsAllowed)
            isJSON = value != nil
            object = (value as? [String: Any]).map(JSONObject.init)
        }

        /// Whether the status is one of success.
        var isSuccess: Bool { (200..<300).contains(status) }
    }
}

/// A JSON object, read as leniently as Firebase's SDK does: a member of another type is as good as missing.
struct JSONObject {
    private let members: [String: Any]

    init(_ members: [String: Any]) { self.members = members }

    func text(_ name: String) -> String? { members[name] as? String }

    func number(_ name: String) -> Int? { members[name] as? Int }

    func object(_ name: String) -> JSONObject? { (members[name] as? [String: Any]).map(JSONObject.init) }

    func objects(_ name: String) -> [JSONObject] {
        (members[name] as? [Any] ?? []).compactMap { $0 as? [String: Any] }.map(JSONObject.init)
    }

    /// A string, or the `id` of an object: both forms occur in `invitationId`.
    func identifier(_ name: String) -> String? { text(name) ?? object(name)?.text("id") }
}
