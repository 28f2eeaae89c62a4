import NIOCore
import NIOHPACK

/// One request as it came over the wire: the headers sorted out, the body so far.
struct PushRequest {
    /// More body than this is counted, not kept: no payload may be that long.
    static let keptBodyBytes = 8192

    private(set) var method = ""
    private(set) var path = ""
    /// `authorization`, kept apart so that no credential gets into a recording.
    private(set) var authorization: String?
    /// All other headers but pseudo-headers, names in lower case (HTTP/2 allows no other).
    private(set) var headers: [String: String] = [:]
    /// Whether a header came twice.
    private(set) var repeatsHeader = false
    /// How many bytes of body came.
    private(set) var bodyBytes = 0
    /// The body, at most ``keptBodyBytes`` of it.
    private(set) var body = ByteBuffer()

    init(_ block: HPACKHeaders) {
        headers.reserveCapacity(block.count)
        for (name, value, _) in block {
            switch name {
            case ":method": method = value
            case ":path": path = value
            case "authorization":
                repeatsHeader = repeatsHeader || authorization != nil
                authorization = value
            default:
                guard !name.hasPrefix(":") else { continue }
                if headers.updateValue(value, forKey: name) != nil { repeatsHeader = true }
            }
        }
    }

    mutating func append(_ data: ByteBuffer) {
        bodyBytes += data.readableBytes
        guard body.readableBytes < Self.keptBodyBytes else { return }
        if body.readableBytes == 0 {
            body = data
        } else {
            body.writeImmutableBuffer(data)
        }
    }

    /// The device token of the path, lower case, whether it is a good one or not; `nil`: another path.
    var deviceToken: String? {
        let prefix = "/3/device/"
        guard path.hasPrefix(prefix) else { return path == "/3/device" ? "" : nil }
        let token = path.dropFirst(prefix.count)
        return token.contains("/") || token.contains("?") ? nil : token.lowercased()
    }
}
