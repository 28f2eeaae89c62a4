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
    func response(for path: String) -> Response { response(as: ErrorForm(path: path)) }
}
