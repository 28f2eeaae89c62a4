import Crypto
import JSON
import NIOCore
import PushModel

/// What a request carries.
struct RequestBody: Sendable {
    /// The bytes as they came.
    let bytes: ByteBuffer

    /// The body as JSON.
    func json() throws(FCMError) -> ObjectReader {
        let value: JSONValue
        do throws(JSONSyntaxError) {
            value = try JSONValue(parsing: bytes.readableBytesView)
        } catch {
            throw malformed(error)
        }
        return try ObjectReader(root: value)
    }

    /// The body as JSON, and the bytes of its `message`, when they are what the store keeps of it.
    func message() throws(FCMError) -> (body: ObjectReader, bytes: [UInt8]?) {
        let (value, message): (JSONValue, [UInt8]?)
        do throws(JSONSyntaxError) {
            (value, message) = try JSONValue.parsing(bytes.readableBytesView, bytesOf: "message")
        } catch {
            throw malformed(error)
        }
        return (try ObjectReader(root: value), message)
    }

    private func malformed(_ error: JSONSyntaxError) -> FCMError {
        let refusal = FCMError.badRequest(
            "", "Invalid JSON payload received. \(error.message) (at byte \(error.offset))", reason: .malformedJSON)
        return refusal.hinting(bytes.readableBytes == 0 ? SenderHint.emptyBody : nil)
    }

    /// SHA-256 of the bytes and of what they were sent to: two methods may be sent the same.
    func digest(for method: String) -> [UInt8] {
        var hash = SHA256()
        hash.update(data: Array("\(method)\n".utf8))
        // In pieces: a batch is not copied as a whole.
        var rest = bytes.readableBytesView[...]
        while !rest.isEmpty {
            hash.update(data: Array(rest.prefix(64 << 10)))
            rest = rest.dropFirst(64 << 10)
        }
        return Array(hash.finalize())
    }
}
