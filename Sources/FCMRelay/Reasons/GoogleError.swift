import JSON

/// The body of a refusal: a google.rpc.Status in JSON (fcm.md §1.5). Anything else says nothing.
struct GoogleError {
    /// Whose quota was exceeded.
    enum Quota {
        case device, topic, project
    }

    /// `errorCode` of the first detail of the type FcmError, wherever it stands.
    private(set) var code: String?
    /// `status`, one of Google's canonical codes.
    private(set) var status: String?
    /// Whether the request's token is what is wrong.
    private(set) var isAboutToken = false
    /// Whose quota was exceeded; `nil`: it does not say.
    private(set) var quota: Quota?

    private static let typePrefix = "type.googleapis.com/"

    /// Reads a body.
    init(_ body: [UInt8]) {
        // What is no JSON, such as a page of a front end, says nothing.
        guard let error = (try? JSONValue(parsing: body))?["error"] else { return }
        status = error["status"]?.stringValue
        let message = error["message"]?.stringValue ?? ""
        isAboutToken = message.lowercased().contains("registration token is not a valid")
        guard case .array(let details)? = error["details"] else { return }
        for detail in details { read(detail) }
        if quota == nil { quota = Self.quota(in: message) }
    }

    private mutating func read(_ detail: JSONValue) {
        switch detail["@type"]?.stringValue {
        case Self.typePrefix + "google.firebase.fcm.v1.FcmError": code = code ?? detail["errorCode"]?.stringValue
        case Self.typePrefix + "google.rpc.BadRequest":
            for violation in detail.list("fieldViolations") where Self.isToken(violation["field"]?.stringValue) {
                isAboutToken = true
            }
        case Self.typePrefix + "google.rpc.QuotaFailure":
            for violation in detail.list("violations") {
                let texts = [violation["subject"]?.stringValue, violation["description"]?.stringValue]
                quota = quota ?? texts.compactMap { $0.flatMap(Self.quota) }.first
            }
        default: break
        }
    }

    private static func isToken(_ field: String?) -> Bool {
        field == "message.token" || field == "message.fid"
    }

    /// No list of the subjects is published (fcm-relay.md §10): the words that were seen.
    private static func quota(in text: String) -> Quota? {
        let text = text.lowercased()
        if text.contains("device") || text.contains("registration") || text.contains("message rate") { return .device }
        if text.contains("topic") { return .topic }
        if text.contains("project") || text.contains("per minute") { return .project }
        return nil
    }
}

extension JSONValue {
    fileprivate func list(_ name: String) -> [JSONValue] {
        guard case .array(let elements)? = self[name] else { return [] }
        return elements
    }
}
