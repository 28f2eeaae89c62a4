import NIOCore

/// A push whose way is timed: its payload carries a number, by which the sink tells when it answered.
enum ProbeMessage {
    private static let mark = Array("herald-probe-".utf8)
    private static let digits = 9
    /// Shorter bodies are not searched: the other pushes of a benchmark are.
    private static let leastBytes = 400

    /// The FCM message of a probe to a registration, longer than ``leastBytes``.
    static func message(_ number: Int, to token: String) -> String {
        let digits = String(String(1_000_000_000 + number).dropFirst())
        return #"{"message":{"token":"\#(token)","notification":{"title":"Your code","body":"123456"},"data":{"probe":"#
            + #""herald-probe-\#(digits)","filler":"\#(String(repeating: "x", count: leastBytes))"}}}"#
    }

    /// The number in the body of a push.
    static func number(in body: ByteBuffer) -> Int? {
        guard body.readableBytes >= leastBytes else { return nil }
        let bytes = body.readableBytesView
        var rest = bytes[...]
        while let start = rest.firstIndex(of: mark[0]) {
            rest = rest[start...]
            if rest.starts(with: mark) {
                return Int(String(decoding: rest.dropFirst(mark.count).prefix(digits), as: UTF8.self))
            }
            rest = rest.dropFirst()
        }
        return nil
    }
}
