import NIOHTTP2

/// Learns that `NIOHTTP2Handler` said GOAWAY because of a connection error. Used on one event loop only.
final class GoAwayWatch: NIOHTTP2FrameDelegate {
    private(set) var sawGoAway = false
    /// Whether the one that comes now was said on purpose.
    var expectsGoAway = false

    func wroteFrame(_ frame: HTTP2Frame) {
        guard !expectsGoAway, case .goAway(_, let code, _) = frame.payload, code != .noError else { return }
        sawGoAway = true
    }
}
