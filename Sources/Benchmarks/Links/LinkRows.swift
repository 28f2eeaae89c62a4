import Store

/// The rows of a file of links, made while they are read.
struct LinkRows {
    static let host = "go.example.com"
    /// The block of a project file that lets them be opened.
    static let configuration = "links:\n  prefixes: [\"https://\(host)\"]\n  targets: [shop.example]"
    private static let alphabet = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8)

    let count: Int
    private var row = 0
    private var rest: [UInt8] = []

    init(count: Int) {
        self.count = count
    }

    /// At most `count` bytes of the file.
    mutating func next(_ count: Int) -> [UInt8] {
        while rest.count < count, row < self.count {
            rest.append(contentsOf: Self.line(row).utf8)
            row += 1
        }
        defer { rest.removeFirst(min(count, rest.count)) }
        return Array(rest.prefix(count))
    }

    /// The key of a row: 17 characters that follow from its number and look random.
    static func key(_ row: Int) -> LinkKey {
        var state = UInt64(row) &* 0x9e37_79b9_7f4a_7c15
        var suffix: [UInt8] = []
        for _ in 0..<17 {
            state = (state ^ state >> 31) &* 0xbf58_476d_1ce4_e5b9
            state ^= state >> 29
            suffix.append(alphabet[Int(state % 62)])
        }
        return LinkKey(prefix: host, suffix: String(decoding: suffix, as: UTF8.self))
    }

    private static func line(_ row: Int) -> String {
        let (link, path) = ("https://\(host)/\(key(row).suffix)", "https://shop.example/products/\(row)?ref=mail")
        return "\(link),\(path),com.example.shop,,,com.example.shop,,,,,1234567890,,,,Offer \(row),,,newsletter,email,"
            + "spring_sale,,,,,,,false,Offer \(row),2023-03-01T12:00:00Z\r\n"
    }
}
