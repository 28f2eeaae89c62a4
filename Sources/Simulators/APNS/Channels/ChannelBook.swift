import NIOCore
import Synchronization

/// The broadcast channels of a simulated APNs, by bundle id: what its management host changes and its broadcast host
/// looks up. Tests and operators change them from outside, too, as a loss at Apple or another system would.
package final class ChannelBook: Sendable {
    /// How many channels an app has at most (Apple, "Sending channel management requests to APNs").
    package static let standardLimit = 10_000

    /// One channel.
    package struct Entry: Sendable, Hashable, Codable {
        /// Its id, base64.
        package var id: String
        /// `message-storage-policy`: 0 nothing is stored, 1 the newest message.
        package var storagePolicy: Int
        /// The payload that was published last, while the policy stores it.
        package var stored: String?
    }

    private struct State {
        var limit: Int
        /// The channels of each bundle id, in the order in which they were made.
        var apps: [String: [Entry]] = [:]
        /// Bundle ids without the capability.
        var disabled: Set<String> = []
    }

    private let state: Mutex<State>

    /// No channels.
    package init(limit: Int = standardLimit) {
        state = Mutex(State(limit: limit))
    }

    /// The channels of an app, the oldest first.
    package func entries(of bundleID: String) -> [Entry] { state.withLock { $0.apps[bundleID] ?? [] } }

    /// The ids of an app's channels, the oldest first.
    package func ids(of bundleID: String) -> [String] { entries(of: bundleID).map(\.id) }

    /// Makes a channel; `nil`: there are as many as there may be.
    package func make(for bundleID: String, storagePolicy: Int) -> String? {
        // As Apple's: standard base64, with `/`, `+` and `=` in it now and then.
        let bytes = (0..<16).map { _ in UInt8.random(in: .min ... .max) }
        return state.withLock { state in
            guard state.apps[bundleID, default: []].count < state.limit else { return nil }
            let id = base64(bytes)
            state.apps[bundleID, default: []].append(Entry(id: id, storagePolicy: storagePolicy))
            return id
        }
    }

    /// Removes a channel; `false`: there is none of this id.
    @discardableResult
    package func remove(_ id: String, of bundleID: String) -> Bool {
        state.withLock { state in
            let before = state.apps[bundleID]?.count ?? 0
            state.apps[bundleID]?.removeAll { $0.id == id }
            return state.apps[bundleID]?.count ?? 0 < before
        }
    }

    /// Switches the capability of an app on or off. Switching it off deletes its channels for good, as in Apple's portal.
    package func setEnabled(_ isEnabled: Bool, for bundleID: String) {
        state.withLock { state in
            if isEnabled {
                state.disabled.remove(bundleID)
            } else {
                state.disabled.insert(bundleID)
                state.apps[bundleID] = nil
            }
        }
    }

    /// Changes how many channels an app may have.
    package func setLimit(_ limit: Int) { state.withLock { $0.limit = limit } }

    func isEnabled(for bundleID: String) -> Bool { state.withLock { !$0.disabled.contains(bundleID) } }

    func entry(_ id: String, of bundleID: String) -> Entry? {
        state.withLock { $0.apps[bundleID]?.first { $0.id == id } }
    }

    /// Keeps what was published, where the channel's policy says so.
    func store(_ payload: String, in id: String, of bundleID: String) {
        state.withLock { state in
            guard let index = state.apps[bundleID]?.firstIndex(where: { $0.id == id }) else { return }
            if state.apps[bundleID]?[index].storagePolicy == 1 { state.apps[bundleID]?[index].stored = payload }
        }
    }
}

/// Standard base64 with its padding (RFC 4648 §4).
func base64(_ bytes: [UInt8]) -> String {
    let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    var text: [UInt8] = []
    for start in stride(from: 0, to: bytes.count, by: 3) {
        let part = bytes[start..<min(start + 3, bytes.count)]
        var bits: UInt32 = 0
        for index in 0..<3 { bits = bits << 8 | UInt32(part.count > index ? part[start + index] : 0) }
        for index in 0..<4 {
            text.append(index <= part.count ? alphabet[Int(bits >> UInt32(18 - index * 6) & 63)] : UInt8(ascii: "="))
        }
    }
    return String(decoding: text, as: UTF8.self)
}
