import Links
import PushModel

/// Reads the `links` block of a project file.
struct LinkSection {
    static let keys = ["prefixes", "preview", "targets", "patterns", "attribution", "referral"]
    static let attributionKeys = ["heuristicMinutes", "clipboardHours", "referrerDays"]
    static let referralKeys = ["rewardsPerDay", "openingsPerAddress", "openingsPerHour"]

    let section: ConfigurationSection

    /// Reads the block; what is wrong is left out after adding a problem.
    func read(
        into content: inout ProjectFile.Content, problems: inout [ConfigurationProblem],
        warnings: inout [ConfigurationProblem]
    ) {
        ProjectFile.refuseUnknown("links", in: section, problems: &problems)
        content.prefixes = prefixes(problems: &problems)
        var settings = LinkSettings(prefixes: content.prefixes.map(\.prefix))
        settings.preview = preview(problems: &problems)
        content.places["links.preview"] = section.place("preview")
        settings.targets = targets(problems: &problems)
        settings.patterns = section.items("patterns", problems: &problems).map(\.text)
        if !section.has("targets"), !section.has("patterns") {
            warnings.append(
                section.problem(
                    "targets", "missing, so no link may lead anywhere; add \"targets: [www.example.com]\""))
        }
        checkPolicy(settings, problems: &problems)
        readWindows(into: &settings.windows, problems: &problems)
        readRules(into: &settings.referralRules, problems: &problems)
        content.links = settings
    }

    private func readWindows(into windows: inout ClickWindows, problems: inout [ConfigurationProblem]) {
        guard section.has("attribution"), let block = section.section("attribution", problems: &problems) else {
            return
        }
        ProjectFile.refuseUnknown("links.attribution", in: block, problems: &problems)
        if let minutes = block.integer("heuristicMinutes", in: 1...1440, problems: &problems) {
            windows.heuristic = .seconds(60 * minutes)
        }
        if let hours = block.integer("clipboardHours", in: 1...720, problems: &problems) {
            windows.clipboard = .seconds(3600 * hours)
        }
        // The Play Store keeps a referrer for 90 days.
        if let days = block.integer("referrerDays", in: 1...90, problems: &problems) {
            windows.referrer = .seconds(86_400 * days)
        }
    }

    private func readRules(into rules: inout ReferralRules, problems: inout [ConfigurationProblem]) {
        guard section.has("referral"), let block = section.section("referral", problems: &problems) else { return }
        ProjectFile.refuseUnknown("links.referral", in: block, problems: &problems)
        for (key, rule) in [
            ("rewardsPerDay", \ReferralRules.rewardsPerDay), ("openingsPerAddress", \ReferralRules.openingsPerAddress),
            ("openingsPerHour", \ReferralRules.openingsPerHour),
        ] {
            if let number = block.integer(key, in: 1...1_000_000, problems: &problems) { rules[keyPath: rule] = number }
        }
    }

    /// Reads targets and patterns as the links' policy does.
    private func checkPolicy(_ settings: LinkSettings, problems: inout [ConfigurationProblem]) {
        do throws(LinkProblem) {
            _ = try LinkPolicy(settings)
        } catch {
            let key = error.field == "links.targets" ? "targets" : "patterns"
            problems.append(section.problem(key, error.message))
        }
    }

    private func prefixes(
        problems: inout [ConfigurationProblem]
    ) -> [(prefix: LinkPrefix, item: ConfigurationSection.Item)] {
        let count = problems.count
        let items = section.items("prefixes", problems: &problems)
        if items.isEmpty, problems.count == count {
            problems.append(section.problem("prefixes", "missing; add \"prefixes: [https://go.example.com]\""))
        }
        return items.compactMap { item in
            guard let prefix = LinkPrefix(rawValue: item.text) else {
                problems.append(item.problem("\"\(item.text)\" is no prefix of links; use \(LinkPrefix.expectation)"))
                return nil
            }
            return (prefix, item)
        }
    }

    private func preview(problems: inout [ConfigurationProblem]) -> LinkPrefix? {
        guard let text = section.text("preview", problems: &problems) else { return nil }
        guard let preview = LinkPrefix(rawValue: text), preview.path.isEmpty else {
            problems.append(
                section.problem(
                    "preview", "\"\(text)\" is no host of a page; write it like https://preview.example.com"))
            return nil
        }
        return preview
    }

    private func targets(problems: inout [ConfigurationProblem]) -> [String] {
        section.items("targets", problems: &problems).compactMap { item in
            let isWildcard = item.text.hasPrefix("*.")
            guard let host = HostName(rawValue: isWildcard ? String(item.text.dropFirst(2)) : item.text) else {
                problems.append(
                    item.problem(
                        "\"\(item.text)\" is no host; use a name as www.example.com, or *.example.com for its sub-domains"
                    ))
                return nil
            }
            return (isWildcard ? "*." : "") + host.rawValue
        }
    }
}

/// Reads what an entry of `apps` says for links.
struct AppLinkSection {
    static let appleKeys = ["appStoreID", "appIDPrefix", "heuristicMatch"]
    static let androidKeys = ["sha256"]
    static let keys = appleKeys + androidKeys

    let section: ConfigurationSection

    /// What an Apple app says, without the default of its prefix.
    func apple(problems: inout [ConfigurationProblem]) -> AppLinkIdentity {
        AppLinkIdentity(
            appStoreID: section.integer("appStoreID", in: 1...Int.max, problems: &problems).map(Int64.init),
            appIDPrefix: prefix(problems: &problems))
    }

    /// What an Android app says.
    func android(problems: inout [ConfigurationProblem]) -> AppLinkIdentity {
        AppLinkIdentity(
            sha256: section.items("sha256", problems: &problems).compactMap { item in
                guard let fingerprint = Self.fingerprint(item.text) else {
                    problems.append(
                        item.problem("is no SHA-256 fingerprint; write 32 bytes as \"14:6D:…\", as keytool prints them")
                    )
                    return nil
                }
                return fingerprint
            })
    }

    /// Whether installs of the app are matched with clicks without proof too.
    func isMatchedHeuristically(problems: inout [ConfigurationProblem]) -> Bool {
        section.choice("heuristicMatch", of: ProjectFile.Switch.self, problems: &problems) != .no
    }

    /// The warning of an app that has no prefix.
    var noPrefix: ConfigurationProblem {
        section.problem(
            "appIDPrefix", "missing, so links do not open the app; add \"appIDPrefix: TEAM123456\", the app id's prefix"
        )
    }

    private func prefix(problems: inout [ConfigurationProblem]) -> String? {
        guard let text = section.text("appIDPrefix", problems: &problems) else { return nil }
        guard APNSSection.isAppleID(text) else {
            problems.append(
                section.problem(
                    "appIDPrefix", "\"\(text)\" must be 10 upper-case letters and digits, such as TEAM123456"))
            return nil
        }
        return text
    }

    /// A fingerprint in capitals; `nil`: it is none.
    private static func fingerprint(_ text: String) -> String? {
        let bytes = text.split(separator: ":", omittingEmptySubsequences: false)
        guard bytes.count == 32, bytes.allSatisfy({ $0.utf8.count == 2 && $0.allSatisfy(\.isHexDigit) }) else {
            return nil
        }
        return text.uppercased()
    }
}
