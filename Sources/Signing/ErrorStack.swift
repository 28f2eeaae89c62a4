import COpenSSL

/// OpenSSL's error stack of this thread. A failing call pushes entries and a later, unrelated reader finds them: so it
/// is cleared before and drained after each call.
enum ErrorStack {
    /// Forgets what earlier calls left.
    static func clear() {
        ERR_clear_error()
    }

    /// Takes all entries off the stack, oldest first, as one line of text.
    static func drain() -> String {
        var lines: [String] = []
        while true {
            let code = ERR_get_error()
            if code == 0 { break }
            lines.append(text(of: code))
        }
        return lines.isEmpty ? "no details" : lines.joined(separator: "; ")
    }

    /// OpenSSL's own text for a code; ERR_error_string_n always ends it with a NUL.
    private static func text(of code: UInt) -> String {
        var buffer = [CChar](repeating: 0, count: 256)
        unsafe buffer.withUnsafeMutableBufferPointer { buffer in
            unsafe ERR_error_string_n(code, buffer.baseAddress, buffer.count)
        }
        return String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
