import COpenSSL

/// OpenSSL's error queue, one per thread: cleared before each call, drained after a failed one.
enum OpenSSLErrors {
    static func clear() { ERR_clear_error() }

    /// Takes all entries, oldest first, in words.
    static func drain() -> String {
        var texts: [String] = []
        var buffer = [CChar](repeating: 0, count: 256)
        while true {
            let code = ERR_get_error()
            guard code != 0 else { break }
            if let reason = unsafe ERR_reason_error_string(code) {
                texts.append(unsafe String(cString: reason))
            } else {
                unsafe ERR_error_string_n(code, &buffer, buffer.count)
                texts.append(text(buffer))
            }
        }
        return texts.isEmpty ? "no details" : texts.joined(separator: "; ")
    }
}
