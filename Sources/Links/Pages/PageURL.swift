/// What may stand in `href` and `src`: an escaped `javascript:` is still a script.
enum PageURL {
    /// Whether it has the scheme http or https, a host, and nothing but visible ASCII.
    static func isWeb(_ url: String) -> Bool {
        ["https://", "http://"].contains { isVisible(url, after: $0) }
    }

    /// Whether it is a picture that the pages' policy lets load.
    static func isImage(_ url: String) -> Bool {
        isVisible(url, after: "https://")
    }

    /// Whether it is a path of the host that the page comes from: `//` would begin with another host.
    static func isLocalPath(_ path: String) -> Bool {
        path.hasPrefix("/") && isVisible(path, after: "/")
    }

    private static func isVisible(_ url: String, after start: String) -> Bool {
        let bytes = url.utf8
        guard bytes.count > start.utf8.count, url.prefix(start.count).lowercased() == start else { return false }
        let next = bytes[bytes.index(bytes.startIndex, offsetBy: start.utf8.count)]
        // A backslash is a slash to browsers.
        return next != UInt8(ascii: "/") && bytes.allSatisfy { (0x21...0x7e).contains($0) && $0 != UInt8(ascii: "\\") }
    }
}
