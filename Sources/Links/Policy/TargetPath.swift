/// Path, query and fragment of a target.
enum TargetPath {
    /// Appends them to a URL's scheme and host: with a slash in front, `.` and `..` resolved as browsers do, and what no URL
    /// may have percent-encoded.
    static func append(_ rest: ArraySlice<UInt8>, to output: inout [UInt8]) {
        let end = rest.firstIndex { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") } ?? rest.endIndex
        let path = rest[..<end]
        if path.isEmpty {
            output.append(UInt8(ascii: "/"))
        } else if hasDotSegment(path) {
            appendResolved(path, to: &output)
        } else {
            appendEncoded(path, to: &output)
        }
        appendEncoded(rest[end...], to: &output)
    }

    private static func appendEncoded(_ bytes: ArraySlice<UInt8>, to output: inout [UInt8]) {
        for byte in bytes {
            if isRefused(byte) { PercentEncoding.append(byte, to: &output) } else { output.append(byte) }
        }
    }

    /// Whether no URL may have the byte as it is (RFC 3986 §2); a `%` without two digits is let be.
    private static func isRefused(_ byte: UInt8) -> Bool {
        switch byte {
        case ...0x20, 0x7f...: true
        case UInt8(ascii: "\""), UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "`"), UInt8(ascii: "{"),
            UInt8(ascii: "}"), UInt8(ascii: "|"), UInt8(ascii: "^"), UInt8(ascii: "\\"):
            true
        default: false
        }
    }

    /// Whether some segment is `.` or `..`, in quotes or not. A cheap test first: it stands on the path of redirects.
    private static func hasDotSegment(_ path: ArraySlice<UInt8>) -> Bool {
        guard path.contains(UInt8(ascii: ".")) || path.contains(UInt8(ascii: "%")) else { return false }
        return path.split(separator: UInt8(ascii: "/")).contains { dots(in: $0) != nil }
    }

    /// 1 or 2 for a segment of so many dots, `%2e` counting as one (WHATWG URL §4.1).
    private static func dots(in segment: ArraySlice<UInt8>) -> Int? {
        var count = 0
        var index = segment.startIndex
        while index < segment.endIndex {
            if segment[index] == UInt8(ascii: ".") {
                index += 1
            } else if PercentEncoding.escape(in: segment, at: index) == UInt8(ascii: ".") {
                index += 3
            } else {
                return nil
            }
            count += 1
        }
        return (1...2).contains(count) ? count : nil
    }

    private static func appendResolved(_ path: ArraySlice<UInt8>, to output: inout [UInt8]) {
        var kept: [ArraySlice<UInt8>] = []
        var endsInSlash = false
        for segment in path.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false) {
            switch dots(in: segment) {
            case 1: endsInSlash = true
            case 2:
                _ = kept.popLast()
                endsInSlash = true
            default:
                kept.append(segment)
                endsInSlash = false
            }
        }
        for segment in kept {
            output.append(UInt8(ascii: "/"))
            appendEncoded(segment, to: &output)
        }
        if endsInSlash || kept.isEmpty { output.append(UInt8(ascii: "/")) }
    }
}
