/// Words that no random suffix shall have. A small list: a link with one is a nuisance, no danger.
enum OffensiveWords {
    private static let words = [
        "anal", "anus", "arse", "bitch", "boob", "clit", "cock", "coon", "crap", "cum", "cunt", "dick", "dildo", "dyke",
        "fag", "fick", "fuck", "fuk", "gook", "hure", "jizz", "kike", "kkk", "merde", "muff", "nazi", "negro", "nigga",
        "nigger", "paki", "penis", "piss", "poop", "porn", "puta", "pussy", "rape", "scheis", "sex", "shit", "slut",
        "spic", "suck", "tits", "turd", "twat", "wank", "whore",
    ].map { Array($0.utf8) }

    /// Digits that are read as letters.
    private static let lookalikes: [UInt8: UInt8] = [
        UInt8(ascii: "0"): UInt8(ascii: "o"), UInt8(ascii: "1"): UInt8(ascii: "i"),
        UInt8(ascii: "3"): UInt8(ascii: "e"),
        UInt8(ascii: "4"): UInt8(ascii: "a"), UInt8(ascii: "5"): UInt8(ascii: "s"),
        UInt8(ascii: "7"): UInt8(ascii: "t"),
    ]

    /// Whether one of the words is in a text, in either case and with digits for letters.
    static func occur(in text: String) -> Bool {
        let letters = text.lowercased().utf8.map { lookalikes[$0] ?? $0 }
        return words.contains { word in
            letters.indices.contains { letters[$0...].starts(with: word) }
        }
    }
}
