package import Store

/// How alike the device that tapped a link and the one that opens the app are.
package enum DeviceLikeness: Int, Hashable, Sendable, Comparable {
    /// They differ, or too little is known.
    case none
    /// What is known of both is the same.
    case partial
    /// Screen, language and time zone are known of both, and all that is known is the same.
    case full

    /// By how alike they are.
    package static func < (left: DeviceLikeness, right: DeviceLikeness) -> Bool { left.rawValue < right.rawValue }
}

extension DeviceTraits {
    /// What a comparison of one trait says.
    private enum Finding {
        case same
        case different
        /// Not known of one of them, or the values may be of one device and need not be.
        case open
    }

    /// How alike the device of a click is to the one that an app runs on. Addresses are not compared: a click is only looked
    /// at when they are the same.
    package func likeness(to app: DeviceTraits) -> DeviceLikeness {
        let needed = [
            Self.compare(screen, app.screen, Self.screens), Self.compare(language, app.language, Self.languages),
            Self.compare(timeZone, app.timeZone) { $0 == $1 ? .same : .different },
        ]
        let more = [
            Self.compare(system, app.system, Self.systems),
            Self.compare(device, app.device) { $0 == $1 ? .same : .different },
        ]
        let all = needed + more
        guard !all.contains(.different) else { return .none }
        if needed.allSatisfy({ $0 == .same }) { return .full }
        // One alone, as the language, says nothing of a network with many devices.
        return all.count { $0 == .same } >= 2 ? .partial : .none
    }

    private static func compare<Trait>(_ click: Trait?, _ app: Trait?, _ compare: (Trait, Trait) -> Finding) -> Finding
    {
        guard let click, let app else { return .open }
        return compare(click, app)
    }

    /// A page says CSS pixels and an app points, which are the same; some clients say native pixels, twice or three times as
    /// many.
    private static func screens(_ click: ScreenSize, _ app: ScreenSize) -> Finding {
        let isSame = (1...3).contains { scale in
            (click.short * scale == app.short && click.long * scale == app.long)
                || (app.short * scale == click.short && app.long * scale == click.long)
        }
        return isSame ? .same : .different
    }

    /// `en` and `en-us` are the same as far as they go; `en-us` and `en-gb` may be what a page and a system say on one
    /// device, whose languages are an ordered list.
    private static func languages(_ click: String, _ app: String) -> Finding {
        guard let click = LanguageTag(click), let app = LanguageTag(app) else { return .open }
        guard click.language == app.language else { return .different }
        if let one = click.script, let other = app.script, one != other { return .different }
        if let one = click.region, let other = app.region, one != other { return .open }
        return .same
    }

    /// Since iOS 26 the user agents of Safari name the system 18.6 or 18.7 for good.
    private static func systems(_ click: SystemVersion, _ app: SystemVersion) -> Finding {
        if click == app { return .same }
        return click.major == 18 && click.minor >= 6 && app.major >= 26 ? .open : .different
    }
}
