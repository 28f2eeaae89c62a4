package import PushModel
package import Store

/// An app is opened for the first time after it was installed.
package struct FirstOpening: Hashable, Sendable {
    /// The project.
    package var project: ProjectID
    /// The app.
    package var app: AppKey
    /// What is known of the device.
    package var traits: DeviceTraits
    /// When the app was installed, by the device's clock; `nil`: not known.
    package var installedAt: Timestamp?
    /// When it asks.
    package var time: Timestamp

    /// Puts an opening together.
    package init(
        project: ProjectID, app: AppKey, traits: DeviceTraits, installedAt: Timestamp? = nil, time: Timestamp
    ) {
        self.project = project
        self.app = app
        self.traits = traits
        self.installedAt = installedAt
        self.time = time
    }
}

/// The click that a first opening comes from.
package struct ClickMatch: Hashable, Sendable {
    /// The click.
    package var click: LinkClick
    /// How sure it is.
    package var confidence: MatchConfidence

    /// How far the clocks of devices may be off.
    private static let clockError: Duration = .seconds(300)

    /// Names a match.
    package init(click: LinkClick, confidence: MatchConfidence) {
        self.click = click
        self.confidence = confidence
    }

    /// Finds the one click that an opening can come from: only one that is like it, so that of two devices behind one
    /// address neither gets the other's link.
    ///
    /// | alike in all | alike as far as known | answer |
    /// |---|---|---|
    /// | one | none | that one, DEFAULT |
    /// | one | some | that one, WEAK |
    /// | some, all on one link | any | the newest of them, WEAK |
    /// | some, on several links | any | none |
    /// | none | one, or some on one link | the newest of them, WEAK |
    /// | none | some, on several links | none |
    ///
    /// - Parameter clicks: of the opening's app and address, the oldest first.
    package init?(of opening: FirstOpening, among clicks: [LinkClick], window: Duration) {
        let candidates = clicks.filter { Self.isInTime($0, opening, window) }
            .map { (click: $0, likeness: $0.traits.likeness(to: opening.traits)) }
        let full = candidates.filter { $0.likeness == .full }.map(\.click)
        let partial = candidates.filter { $0.likeness == .partial }.map(\.click)
        let best = full.isEmpty ? partial : full
        guard let newest = best.last, best.allSatisfy({ $0.url == newest.url }) else { return nil }
        self.init(click: newest, confidence: full.count == 1 && partial.isEmpty ? .standard : .weak)
    }

    /// Whether a click lies within the window, and before the install as far as that is known.
    private static func isInTime(_ click: LinkClick, _ opening: FirstOpening, _ window: Duration) -> Bool {
        guard opening.time - click.time <= window else { return false }
        guard let installedAt = opening.installedAt else { return true }
        return click.time <= installedAt + clockError
    }
}
