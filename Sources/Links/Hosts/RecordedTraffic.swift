package import PushModel
package import Store

/// Traffic whose events are counted, and whose openings wait for their apps.
package struct RecordedTraffic: LinkTraffic {
    private let counter: LinkCounter
    private let clicks: ClickRecorder
    private let invitations: any ReferralStore

    /// Counts with `counter`, keeps openings in `clicks`, and finds invitations in a store.
    package init(_ counter: LinkCounter, _ clicks: ClickRecorder, invitations: any ReferralStore) {
        self.counter = counter
        self.clicks = clicks
        self.invitations = invitations
    }

    package func count(_ events: [LinkEvent], of link: LinkID, on platform: LinkPlatform, at time: Timestamp) {
        counter.count(events, of: link, on: platform, at: time)
    }

    package func take(_ opening: LinkOpening) -> ClickID {
        let id = ClickID.random()
        let version = SystemVersion(userAgent: opening.userAgent)
        clicks.record(
            TappedLink(
                id: id, url: opening.url, link: opening.link,
                invitation: opening.invitation.flatMap { InvitationID(rawValue: $0) }, app: opening.app,
                address: opening.address, languages: opening.languages,
                system: version.map { "\($0.major).\($0.minor)" }, device: DeviceClass(opening.client.kind),
                windows: opening.windows),
            of: opening.project)
        return id
    }

    package func take(_ report: DeviceReport, of click: ClickID) {
        clicks.describe(click, report.traits)
    }

    package func invitation(_ name: String, of project: ProjectID) async throws -> LinkInvitation? {
        guard let id = InvitationID(rawValue: name), let found = try await invitations.invitation(id),
            found.project == project
        else { return nil }
        return LinkInvitation(parameters: LinkParameters(query: found.parameters))
    }
}

extension DeviceClass {
    /// The class of a client; `nil`: it has no store for apps.
    fileprivate init?(_ kind: LinkClient.Kind) {
        switch kind {
        case .iPhone: self = .phone
        case .iPad: self = .tablet
        case .androidChrome, .androidOther: self = .android
        case .mac, .desktop, .crawler, .other: return nil
        }
    }
}
