/// Base 64 with the URL and filename safe alphabet (RFC 4648 §5), without padding, as JOSE uses it.
enum Base64URL {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    /// The text of `bytes`.
    static func encoded(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count * 4 + 2) / 3)
        var buffer: UInt32 = 0
        var bits = 0
        for byte in bytes {
            buffer = buffer << 8 | UInt32(byte)
            bits += 8
            while bits >= 6 {
                bits -= 6
                text.append(alphabet[Int(buffer >> UInt32(bits) & 0x3f)])
            }
        }
        if bits > 0 {
            text.append(alphabet[Int(buffer << UInt32(6 - bits) & 0x3f)])
        }
        return String(decoding: text, as: UTF8.self)
    }
}
