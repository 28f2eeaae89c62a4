/// What the words of a `User-Agent` say. One pass over its bytes without allocations: it stands on the path of redirects.
struct UserAgent {
    private let traits: Traits
    /// Longer ones are cut off, in bytes.
    private static let lengthLimit = 1_024

    init(_ text: String) {
        var traits: Traits = []
        var word = Word()
        for byte in text.utf8.prefix(Self.lengthLimit) {
            // Setting this bit makes letters lower-case ones, and no other byte a letter.
            let letter = byte | 0x20
            if (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(letter) {
                word.append(letter)
            } else if !word.isEmpty {
                traits.formUnion(Self.traits(of: word))
                word = Word()
            }
        }
        if !word.isEmpty { traits.formUnion(Self.traits(of: word)) }
        self.traits = traits
    }

    /// The kind of client, where the hints of newer browsers (`"Android"`, `?1`) say more than the words.
    func kind(platformHint: String?, mobileHint: String?) -> LinkClient.Kind {
        if isCrawler { return .crawler }
        if traits.contains(.windows) { return .desktop }
        if traits.contains(.android) || platformHint == "\"Android\"" {
            return isChrome && !isInApp ? .androidChrome : .androidOther
        }
        if traits.contains(.iPad) { return .iPad }
        if traits.contains(.iPhone) { return .iPhone }
        if traits.contains(.mac) {
            if traits.contains(.iosBrowser) { return .iPad }
            return isChrome || traits.contains(.firefox) || platformHint != nil ? .desktop : .mac
        }
        if traits.contains(.linux) { return mobileHint == "?1" ? .androidOther : .desktop }
        return .other
    }

    /// Browsers made of Chrome have its word, and so has every web view of Android.
    private var isChrome: Bool { traits.contains(.chrome) && traits.isDisjoint(with: [.firefox, .noChrome]) }

    /// Whether it is a browser by its own words: libraries and command line tools leave `Mozilla` out.
    var isBrowser: Bool { traits.contains(.browser) }

    /// Whether an app shows the page: most don't know `intent:` and open no universal link.
    var isInApp: Bool { traits.contains(.app) }

    /// "compatible" is what crawlers are with browsers; Internet Explorer said it too.
    private var isCrawler: Bool {
        traits.contains(.crawler) || traits.contains(.compatible) && !traits.contains(.msie)
    }
}

// The words.
extension UserAgent {
    /// What a word says of a client.
    private struct Traits: OptionSet, Hashable {
        let rawValue: UInt32
        static let browser = Traits(rawValue: 1 << 0)
        static let crawler = Traits(rawValue: 1 << 1)
        static let compatible = Traits(rawValue: 1 << 2)
        static let msie = Traits(rawValue: 1 << 3)
        static let windows = Traits(rawValue: 1 << 4)
        static let android = Traits(rawValue: 1 << 5)
        static let iPad = Traits(rawValue: 1 << 6)
        static let iPhone = Traits(rawValue: 1 << 7)
        static let mac = Traits(rawValue: 1 << 8)
        static let linux = Traits(rawValue: 1 << 9)
        static let chrome = Traits(rawValue: 1 << 10)
        static let firefox = Traits(rawValue: 1 << 11)
        /// Has Chrome's word and doesn't know `intent:`.
        static let noChrome = Traits(rawValue: 1 << 12)
        /// A browser on iOS that calls its machine a Macintosh when a user asks for the desktop's page.
        static let iosBrowser = Traits(rawValue: 1 << 13)
        static let app = Traits(rawValue: 1 << 14)
    }

    /// A word as it is read: its FNV-1a hash and its last eight letters. Words that have the hash of another are taken for
    /// it; one made for that fools its maker only.
    private struct Word {
        private(set) var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        private(set) var tail: UInt64 = 0

        init() {}

        init(_ text: String) {
            for byte in text.utf8 { append(byte) }
        }

        var isEmpty: Bool { tail == 0 }

        mutating func append(_ letter: UInt8) {
            hash = (hash ^ UInt64(letter)) &* 0x100_0000_01b3
            tail = tail << 8 | UInt64(letter)
        }
    }

    private static func traits(of word: Word) -> Traits {
        if let traits = table[word.hash] { return traits }
        return endings.contains { word.tail & $0.mask == $0.letters } ? .crawler : []
    }

    /// What the names of crawlers end in; of longer ones the last eight letters.
    private static let endings: [(letters: UInt64, mask: UInt64)] =
        ["bot", "crawl", "crawler", "spider", "preview", "scraper", "checker", "fetcher", "scanner", "alidator"]
        .map { (Word($0).tail, .max >> UInt64(64 - 8 * $0.utf8.count)) }

    private static let table: [UInt64: Traits] = {
        let words: [(Traits, [String])] = [
            // A maker of phones.
            ([], ["cubot"]), (.browser, ["mozilla", "opera"]), (.compatible, ["compatible"]), (.msie, ["msie"]),
            (.windows, ["windows"]), (.android, ["android"]), (.iPad, ["ipad"]), (.iPhone, ["iphone", "ipod"]),
            (.mac, ["macintosh"]), (.linux, ["linux", "cros", "x"]), (.chrome, ["chrome", "chromium"]),
            (.firefox, ["firefox"]), (.noChrome, ["ucbrowser", "duckduckgo", "mini"]),
            (.iosBrowser, ["crios", "fxios", "edgios", "opios", "focus"]), (.app, apps), (.crawler, crawlers),
        ]
        let pairs = words.flatMap { traits, words in words.map { (Word($0).hash, traits) } }
        return Dictionary(pairs) { $0.union($1) }
    }()

    private static let apps = [
        "wv", "fban", "fbav", "fbios", "fbsv", "instagram", "line", "micromessenger", "musical", "bytedancewebview",
        "snapchat", "pinterest", "twitter", "linkedinapp", "kakaotalk", "naver", "weibo", "gsa", "reddit",
        "discord", "tiktok", "trill", "barcelona", "telegram", "viber", "qq",
    ]

    /// Names, and the words of a URL where a crawler is told of.
    private static let crawlers = [
        "facebookexternalhit", "facebookcatalog", "externalagent", "externalfetcher", "whatsapp", "embedly",
        "iframely", "vkshare", "archiver", "slurp", "mediapartners", "inspectiontool", "googleother",
        "lighthouse", "cardyb", "mastodon", "nuzzel", "quora", "outbrain", "tumblr", "pingdom", "headlesschrome",
        "phantomjs", "unfurl", "unfurler", "flipboardproxy", "http", "https",
    ]
}
