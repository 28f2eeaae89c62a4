/// What stands behind a prefix in a short link: 1 to 128 of `[A-Za-z0-9_-]`, compared byte for byte.
package enum LinkSuffix {
    /// Paths that links can't have: other things are served there, or Firebase's SDKs take them for something else (§2.9).
    package static let reserved: Set<String> = [
        "link", "i", "app", "_", ".well-known", "apple-app-site-association", "assetlinks", "robots", "robots.txt",
        "favicon",
        "favicon.ico", "healthz", "metrics",
    ]
    /// The characters of random suffixes, in the order of their digits.
    private static let alphabet = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8)
    /// 62^16 is less than 2^96.
    private static let unguessableLength = 17
    private static let lengthLimit = 128

    /// 17 digits of base 62 that stand for a random number of 96 bits, padded with zeros on the left.
    ///
    /// - Parameter taken: paths that are not drawn.
    package static func unguessable(
        besides taken: TakenPaths = .none, using random: inout some RandomNumberGenerator
    ) -> String {
        draw(&random, taken) { random in
            var number = UInt128(random.next()) << 32 | UInt128(random.next() >> 32)
            var digits: [UInt8] = []
            for _ in 0..<unguessableLength {
                digits.append(alphabet[Int(number % 62)])
                number /= 62
            }
            return String(decoding: digits.reversed(), as: UTF8.self)
        }
    }

    /// `length` random digits of base 62, at least one.
    ///
    /// - Parameter taken: paths that are not drawn.
    package static func short(
        length: Int, besides taken: TakenPaths = .none, using random: inout some RandomNumberGenerator
    ) -> String {
        draw(&random, taken) { random in
            let digits = (0..<max(length, 1)).map { _ in alphabet[Int.random(in: 0..<alphabet.count, using: &random)] }
            return String(decoding: digits, as: UTF8.self)
        }
    }

    /// Why a suffix that somebody chose can't be one: a sentence for the caller; `nil`: it can.
    package static func customProblem(_ suffix: String) -> String? {
        guard isSegment(suffix[...]) else {
            return "has to be 1 to \(lengthLimit) of A-Z, a-z, 0-9, '_' and '-', not \(suffix.quotedExcerpt)"
        }
        return reserved.contains(suffix.lowercased()) ? "can't be '\(suffix)', which is reserved" : nil
    }

    /// Whether a text has the form of a suffix.
    static func isSegment(_ text: Substring) -> Bool {
        (1...lengthLimit).contains(text.utf8.count)
            && text.utf8.allSatisfy {
                PercentEncoding.isUnreserved($0) && $0 != UInt8(ascii: ".") && $0 != UInt8(ascii: "~")
            }
    }

    /// Draws until the suffix is neither reserved, offensive nor the path of something else: nearly always once.
    private static func draw<Random: RandomNumberGenerator>(
        _ random: inout Random, _ taken: TakenPaths, _ make: (inout Random) -> String
    ) -> String {
        while true {
            let suffix = make(&random)
            if !reserved.contains(suffix.lowercased()), !OffensiveWords.occur(in: suffix), taken.isFree(suffix) {
                return suffix
            }
        }
    }
}
