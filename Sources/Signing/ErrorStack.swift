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
        drainCodes().text
    }

    /// Takes all entries off the stack, oldest first.
    static func drainCodes() -> Codes {
        var codes: [UInt] = []
        while true {
            let code = ERR_get_error()
            if code == 0 { break }
            codes.append(code)
        }
        return Codes(codes: codes)
    }

    /// What was on the stack.
    struct Codes {
        let codes: [UInt]

        /// All entries as one line of text.
        var text: String {
            codes.isEmpty ? "no details" : codes.map(ErrorStack.text(of:)).joined(separator: "; ")
        }

        /// Whether an algorithm was asked for that no loaded provider knows.
        var sayUnsupported: Bool { codes.contains { herald_ERR_is_unsupported($0) == 1 } }
        /// Whether a PKCS#12 file did not open with its password.
        var sayWrongPassword: Bool { codes.contains { herald_ERR_is_wrong_password($0) == 1 } }
        /// Whether nothing is wrong but that a PEM text is at its end.
        var sayEndOfText: Bool { codes.last.map { herald_ERR_is_no_start_line($0) == 1 } ?? false }
    }

    /// OpenSSL's own text for a code; ERR_error_string_n always ends it with a NUL.
    fileprivate static func text(of code: UInt) -> String {
        var buffer = [CChar](repeating: 0, count: 256)
        unsafe buffer.withUnsafeMutableBufferPointer { buffer in
            unsafe ERR_error_string_n(code, buffer.baseAddress, buffer.count)
        }
        return String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
