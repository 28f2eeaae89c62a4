import FCMWire
import JSON
import PushModel
import Store

/// What a caller most likely meant: `metadata.hint` of `herald.v1.ErrorInfo`. FCM's own text stays as it is.
///
/// A hint follows from the request and from what the caller may know anyway; it holds no secret and reveals no project.
enum SenderHint {
    // MARK: - Names

    /// For a project in the path that is not the credential's: the one that may be meant.
    static func project(_ name: String, of caller: ProjectID) -> String? {
        name == caller.rawValue ? nil : meant(name, among: [caller.rawValue])
    }

    /// For a bundle id that the project does not have.
    static func bundleID(_ id: String, in project: Project) -> String? {
        meant(id, among: project.apps.values.filter { $0.platform == .apple }.map(\.id.rawValue))
    }

    private static func meant(_ word: String, among candidates: [String]) -> String? {
        Spelling.closest(to: word, among: candidates).map { "did you mean \($0)?" }
    }

    /// For a token that has not the form of one: it may be the device's own.
    static func malformedToken(_ text: String) -> String? {
        guard DeviceToken(registering: text) != nil else { return nil }
        return "This looks like an APNs device token. Register it (POST …/registrations, or /iid/v1:batchImport) and "
            + "send to the registration token that this gives."
    }

    /// For a well-formed token that no project has.
    static func unknownToken(_ token: RegistrationToken) -> String? {
        guard token.isOfGoogle else { return nil }
        return "This looks like a token that Google issued. The gateway knows such tokens only after an import of the "
            + "registrations with their APNs tokens (herald registration import)."
    }

    // MARK: - Bodies and paths

    /// For a body of a send request with names that it does not have.
    static func body(_ body: ObjectReader) -> String? {
        if legacyNames.contains(where: { body.value($0) != nil }) {
            return "This looks like a body of the legacy API: send it to /fcm/send, or say "
                + "{\"message\": {\"token\": …}} here."
        }
        if body.value("message") == nil, messageNames.contains(where: { body.value($0) != nil }) {
            return "The message stands in an object of its own: {\"message\": {…}}."
        }
        return nil
    }

    /// For a message with names that it does not have.
    static func message(_ message: JSONValue) -> String? {
        guard legacyNames.contains(where: { message[$0] != nil }) else { return nil }
        return "The legacy API has to and registration_ids; here a message has one of token, topic and condition."
    }

    private static let legacyNames = ["to", "registration_ids"]
    private static let messageNames = [
        "token", "fid", "topic", "condition", "notification", "data", "apns", "android", "webpush",
    ]

    /// For a request without a body where JSON is needed.
    static let emptyBody = "The request has no body: send a JSON object."

    /// For a path that no route has with this method.
    static func path(_ path: String) -> String? {
        for name in ["send", "batchSend"] {
            guard ["/", "%3A", "%3a"].contains(where: { path.hasSuffix("/messages\($0)\(name)") }) else { continue }
            return "did you mean /messages:\(name)? The method stands behind a colon, which is written as it is."
        }
        return path.hasPrefix("/projects/") ? "did you mean /v1\(path.excerpt)?" : nil
    }
}

extension FCMError {
    /// The error with a hint, if there is one.
    func hinting(_ hint: String?) -> FCMError {
        guard let hint else { return self }
        var error = self
        error.metadata["hint"] = hint
        return error
    }
}
