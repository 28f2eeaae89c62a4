import Hummingbird
import JSON

extension ErrorForm {
    /// The form of the API that `path` belongs to; an unknown path has FCM's.
    init(path: String) {
        switch path {
        case LegacySend.path: self = .text
        case TokenRoutes.path: self = .token
        case InstanceIDRoutes.webPath: self = .bareMessage
        case _ where path.hasPrefix("/iid/") || path.hasPrefix("/fcm/"): self = .bareMessage
        default: self = .status
        }
    }
}

extension FCMError {
    /// The body as the API under `path` gives it, in JSON.
    func json(for path: String) -> JSONValue { json(as: ErrorForm(path: path)) }

    /// The answer as the API under `path` gives it.
    func response(for path: String) -> Response { response(as: form(for: path)) }

    /// Text for an app that asks for its link and must ask again: the iOS SDK takes any JSON for the answer that there is
    /// none, and clears the clipboard in which the link may be.
    private func form(for path: String) -> ErrorForm {
        let isTemporary = code.httpStatus == 429 || code.httpStatus >= 500
        return isTemporary && path == AttributionRoutes.installPath ? .text : ErrorForm(path: path)
    }
}
