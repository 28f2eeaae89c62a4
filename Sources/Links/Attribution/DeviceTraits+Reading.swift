import PushModel
package import Store

extension DeviceTraits {
    /// Brings what pages, headers and apps say of a device into one form; what says nothing is `nil`.
    ///
    /// - Parameters:
    ///   - languages: in the order of how good they are: the first that is one counts.
    ///   - system: `17.5.1`, or `17_5_1` as user agents have it.
    package init(
        address: KeyedDigest?, width: Int? = nil, height: Int? = nil, languages: [String?] = [],
        timeZone: String? = nil, system: String? = nil, device: DeviceClass? = nil
    ) {
        self.init(
            address: address, screen: ScreenSize(width ?? 0, height ?? 0),
            language: languages.lazy.compactMap { $0 }.compactMap(LanguageTag.init).first?.text,
            timeZone: timeZone.flatMap(TimeZoneNames.present), system: system.flatMap { SystemVersion($0) },
            device: device)
    }
}

extension SystemVersion {
    /// Reads `17.5.1`, `17_5_1` or `17`; `nil`: it begins with no number.
    package init?(_ text: String) {
        let numbers = text.trimmingSpaces.split(omittingEmptySubsequences: false) { $0 == "." || $0 == "_" }
            .prefix(2).map { Int($0) }
        guard let first = numbers.first, let major = first else { return nil }
        self.init(major: major, minor: numbers.count > 1 ? numbers[1] ?? 0 : 0)
    }
}

extension DeviceClass {
    /// What a model's name says: `iPhone14,5`, `iPad13,1`. A simulator's (`x86_64`, `arm64`) says nothing.
    package init?(model: String) {
        switch model.prefix(4) {
        case "iPho": self = .phone
        case "iPad": self = .tablet
        case "iPod": self = .musicPlayer
        default: return nil
        }
    }
}

/// A language as browsers and systems name it, in one spelling: `en_US`, `en-us` and `en-US@calendar=gregorian` are one.
struct LanguageTag: Hashable, Sendable {
    /// `en`.
    let language: Substring
    /// `hant`; often left out.
    let script: Substring?
    /// `us`; often left out.
    let region: Substring?
    /// All of it.
    let text: String

    /// Reads a tag; `nil`: it begins with no language of two or three letters.
    init?(_ text: String) {
        let plain = text.prefix { $0 != "@" && $0 != "." && $0 != "," && $0 != ";" }
        self.text = String(plain).trimmingSpaces.lowercased().replacing("_", with: "-")
        let parts = self.text.split(separator: "-")
        guard self.text.utf8.count <= 35, let language = parts.first, (2...3).contains(language.utf8.count),
            parts.allSatisfy({ $0.utf8.allSatisfy(Self.isLetterOrDigit) })
        else { return nil }
        self.language = language
        script = parts.dropFirst().first { $0.utf8.count == 4 }
        region = parts.dropFirst().first { $0.utf8.count == 2 || $0.utf8.count == 3 && Int($0) != nil }
    }

    private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }
}

extension String {
    /// The text without blanks around it.
    var trimmingSpaces: String {
        var rest = self[...]
        while rest.first == " " { rest.removeFirst() }
        while rest.last == " " { rest.removeLast() }
        return String(rest)
    }
}
