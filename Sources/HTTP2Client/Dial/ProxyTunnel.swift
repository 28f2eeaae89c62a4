/// A CONNECT exchange with a proxy, as a value (RFC 9110 §9.3.6, RFC 9112): what is to be sent, and what came back. No
/// I/O, no clock.
struct ProxyTunnel {
    /// How far it is.
    enum Progress: Equatable {
        /// The answer is not complete.
        case pending
        /// The tunnel stands: what follows is between us and the target.
        case open
        /// The proxy refused, or spoke no HTTP.
        case failed(TransportFailure)
    }

    /// The longest head of an answer, in bytes, interim answers counted in.
    static let headLimitBytes = 8192

    /// What has not been sent yet.
    private(set) var unsent: [UInt8]
    private let proxy: HTTPProxy
    private let target: String
    private var head: [UInt8] = []

    /// A tunnel through `proxy` to `target` (`host:port`).
    init(proxy: HTTPProxy, target: String) {
        self.proxy = proxy
        self.target = target
        var text = "CONNECT \(target) HTTP/1.1\r\nHost: \(target)\r\n"
        if let credentials = proxy.credentials { text += "Proxy-Authorization: \(credentials.authorization)\r\n" }
        unsent = Array((text + "\r\n").utf8)
    }

    /// `count` bytes of ``unsent`` left.
    mutating func sent(_ count: Int) { unsent.removeFirst(count) }

    /// Bytes came from the proxy.
    mutating func received(_ bytes: some Collection<UInt8>) -> Progress {
        head += bytes
        // Another protocol on that port is told at once, not after the time limit.
        guard head.starts(with: Self.name.prefix(head.count)) else { return violation("its answer is no HTTP") }
        while let end = headEnd {
            let lines = head[..<end].split(separator: UInt8(ascii: "\n"))
            guard let status = status(lines) else { return violation("its answer has no valid head") }
            switch status.code {
            case 100..<200: head.removeFirst(end)
            case 200..<300:
                // The client speaks first in TLS: more can't come from the target.
                guard end == head.count else { return violation("it sent more than the head of its answer") }
                return .open
            default: return refusal(status.code, status.phrase)
            }
        }
        return head.count < Self.headLimitBytes ? .pending : violation("the head of its answer is too long")
    }

    /// The proxy closed the connection before its answer was complete.
    func ended() -> TransportFailure {
        TransportFailure(.connectFailed, "\(place): closed before \(head.isEmpty ? "its" : "the end of its") answer")
    }

    /// Whom it is about, for messages.
    var place: String { "proxy \(proxy)" }

    private static let name = Array("HTTP/1.".utf8)

    /// Behind the empty line; a lone LF ends a line too (RFC 9112 §2.2).
    private var headEnd: Int? {
        var lineLength = 0
        for (index, byte) in head.enumerated() {
            switch byte {
            case UInt8(ascii: "\n"):
                if lineLength == 0 { return index + 1 }
                lineLength = 0
            case UInt8(ascii: "\r"): break
            default: lineLength += 1
            }
        }
        return nil
    }

    /// `HTTP/1.1 200 Connection established`, and fields of which only the colon is looked at.
    private func status(_ lines: [ArraySlice<UInt8>]) -> (code: Int, phrase: String)? {
        guard let first = lines.first else { return nil }
        for line in lines.dropFirst() where line.contains(where: { $0 != UInt8(ascii: "\r") }) {
            guard line.contains(UInt8(ascii: ":")) else { return nil }
        }
        let parts = first.split(separator: UInt8(ascii: " "), maxSplits: 2)
        guard parts.count >= 2, parts[0].count == 8, let code = Int(String(decoding: trimmed(parts[1]), as: UTF8.self)),
            (100...599).contains(code)
        else { return nil }
        return (code, parts.count > 2 ? Self.printable(parts[2]) : "")
    }

    private func trimmed(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        bytes.last == UInt8(ascii: "\r") ? bytes.dropLast() : bytes
    }

    /// The proxy's words come into our logs: only printable ASCII, and not too much of it.
    private static func printable(_ bytes: ArraySlice<UInt8>) -> String {
        String(decoding: bytes.filter { (0x20...0x7E).contains($0) }.prefix(100), as: UTF8.self)
    }

    private func refusal(_ code: Int, _ phrase: String) -> Progress {
        let meaning: String? =
            switch code {
            case 407 where proxy.credentials == nil: "the proxy wants credentials"
            case 407: "the proxy does not accept the credentials"
            case 403, 405: "the proxy does not allow this target"
            case 502, 503, 504: "the proxy does not reach the target"
            default: nil
            }
        let words = [meaning, phrase.isEmpty ? nil : "\"\(phrase)\""].compactMap { $0 }.joined(separator: ", ")
        let details = words.isEmpty ? "" : " (\(words))"
        return .failed(TransportFailure(.connectFailed, "\(place): CONNECT \(target) gave \(code)\(details)"))
    }

    private func violation(_ what: String) -> Progress {
        .failed(TransportFailure(.protocolError, "\(place): \(what)"))
    }
}
