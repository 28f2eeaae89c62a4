import Crypto
import Foundation

/// The parameters of a link: the known ones that were given, the first of each name.
///
/// Reading them takes time that grows with the length of the text only: it stands on the path of every redirect.
package struct LinkParameters: Hashable, Sendable {
    private struct Entry: Hashable {
        let parameter: LinkParameter
        let value: String
    }

    /// In the order of the names.
    private var entries: [Entry] = []

    /// No parameters.
    package init() {}

    /// Reads a query, that of a long link or ``Link/parameters``: pairs part at `&`, names from values at the first `=`,
    /// both are percent-decoded once and `+` stays. Unknown names and empty values are dropped.
    package init(query: String) {
        var reader = QueryReader(query)
        entries.reserveCapacity(12)
        while let pair = reader.next() {
            guard case .known(let parameter) = pair.name else { continue }
            if let last = entries.last, last.parameter.rank >= parameter.rank, self[parameter] != nil { continue }
            self[parameter] = reader.value(of: pair)
        }
    }

    /// The value of a parameter; an empty one is none.
    package subscript(_ parameter: LinkParameter) -> String? {
        get { entries.first { $0.parameter == parameter }?.value }
        set {
            if let last = entries.last, last.parameter.rank < parameter.rank {
                // What stored links give, in their order.
                if let newValue, !newValue.isEmpty { entries.append(Entry(parameter: parameter, value: newValue)) }
                return
            }
            if let index = entries.firstIndex(where: { $0.parameter == parameter }) { entries.remove(at: index) }
            guard let newValue, !newValue.isEmpty else { return }
            let index = entries.lastIndex { $0.parameter.rank < parameter.rank }.map { $0 + 1 } ?? 0
            entries.insert(Entry(parameter: parameter, value: newValue), at: index)
        }
    }

    /// Whether none was given.
    package var isEmpty: Bool { entries.isEmpty }

    /// The parameters that were given with their values, in the order of their names.
    package var all: [(parameter: LinkParameter, value: String)] { entries.map { ($0.parameter, $0.value) } }

    /// The canonical query: sorted by name, values percent-encoded but for `[A-Za-z0-9._~-]`, no internal parameters.
    package var query: String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(entries.reduce(0) { $0 + 16 + 2 * $1.value.utf8.count })
        for entry in entries {
            if !bytes.isEmpty { bytes.append(UInt8(ascii: "&")) }
            bytes.append(contentsOf: entry.parameter.rawValue.utf8)
            bytes.append(UInt8(ascii: "="))
            PercentEncoding.append(entry.value, to: &bytes)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The first 16 bytes of the SHA-256 of the canonical query: links that mean the same have the same.
    package func digest() -> [UInt8] {
        Array(SHA256.hash(data: Data(query.utf8)).prefix(16))
    }

    /// Whether `efr=1`: iOS goes on without the preview page. Some callers write `true`.
    package var isForcedRedirect: Bool { Self.boolean(self[.forcedRedirect]) ?? false }

    /// What a text says as a boolean, of `1`, `true`, `0` and `false`.
    package static func boolean(_ text: String?) -> Bool? {
        switch text?.lowercased() {
        case "1", "true": true
        case "0", "false": false
        default: nil
        }
    }
}
