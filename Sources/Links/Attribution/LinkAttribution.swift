package import HTTPListener
package import PushModel
package import Store

/// Gives apps the links that led to them. Safe to share.
package struct LinkAttribution: Sendable {
    /// What it asks of the store.
    package typealias Stores = LinkStore & ClickStore & ReferralStore

    /// Takes clicks in.
    package let clicks: ClickRecorder
    /// How many links that are not there an address may ask for, here and on link hosts together.
    package var misses = MissBudget(rate: 0)
    private let store: any Stores
    private let finder: LinkFinder
    private let key: DigestKey
    private let count: @Sendable (LinkCount) -> Void

    /// Puts it together.
    ///
    /// - Parameters:
    ///   - key: of ``ClickStore/digestKey()``.
    ///   - count: hears what is counted of links.
    package init(
        store: any Stores, clicks: ClickRecorder, key: DigestKey, count: @escaping @Sendable (LinkCount) -> Void
    ) {
        self.store = store
        self.clicks = clicks
        self.key = key
        self.count = count
        finder = LinkFinder(store: store)
    }

    /// Where invitations are.
    package var referrals: any ReferralStore { store }

    /// The link of a URL that a device or a link host shows: short, long, or an invitation's.
    package func link(
        _ url: String, of project: Project, at time: Timestamp
    ) async throws(AttributionProblem) -> AttributedLink {
        try await finder.link(url, of: project, at: time)
    }

    /// The link that an installed app was opened by. It is counted as opened, and as clicked too unless a page of ours saw the
    /// click.
    package func reopen(
        _ url: String, on platform: Platform, of project: Project, at time: Timestamp
    ) async throws(AttributionProblem) -> AttributedLink {
        let link = try await finder.link(url, of: project, at: time)
        if let id = ClickID(inURL: url) {
            // The app was there: the click waits for no install.
            _ = clicks.index.take(id)
        } else {
            note(.click, of: link, on: platform, at: time)
        }
        note(.appReopen, of: link, on: platform, at: time)
        return link
    }

    /// What an app tells of itself when it is opened for the first time.
    package struct Install: Sendable {
        /// App and device.
        package var opening: FirstOpening
        /// The link that the device shows, on iOS from the clipboard.
        package var shownLink: String?
        /// The Play Store's install referrer.
        package var referrer: String?
        /// What the install calls itself, kept over reinstalls; `nil`: nothing.
        package var id: String?

        /// Puts an install together.
        package init(
            opening: FirstOpening, shownLink: String? = nil, referrer: String? = nil, id: String? = nil
        ) {
            self.opening = opening
            self.shownLink = shownLink
            self.referrer = referrer
            self.id = id
        }
    }

    /// A link that an install is given.
    package struct Match: Hashable, Sendable {
        /// The link.
        package var link: AttributedLink
        /// How sure it is.
        package var confidence: MatchConfidence
        /// The referral that the install went on, when the link is an invitation.
        package var referral: ReferralID?
    }

    /// The link that led to an install; `nil`: none is known. One install gets one link, and one click goes to one install.
    ///
    /// - Throws: `.store` alone: a link that is refused or unknown is no match.
    package func install(_ install: Install, of project: Project) async throws(AttributionProblem) -> Match? {
        if let id = install.referrer.flatMap(ClickID.init(inReferrer:)) {
            return try await match(shown: nil, click: id, install, project)
        }
        if let url = install.shownLink, let link = try await link(shown: url, install, project) {
            return try await match(shown: link, click: ClickID(inURL: url), install, project)
        }
        guard let settings = project.links, settings.heuristicApps.contains(install.opening.app.id) else { return nil }
        // What is found may be a link that works no more: then there may be another.
        for _ in 0..<3 {
            guard let found = clicks.index.takeMatch(install.opening, within: settings.windows.heuristic) else {
                return nil
            }
            if let match = try await match(found, install, project) { return match }
        }
        return nil
    }

    /// Seconds until an address may ask for a link again; `nil`: it may now.
    package func wait(of address: ClientAddress?) -> Int? { address.flatMap { misses.wait(of: $0) } }

    /// Counts that an address asked for a link that is not there.
    package func missed(by address: ClientAddress?) {
        if let address { misses.count(address) }
    }

    /// The digest of an address.
    package func digest(of address: ClientAddress) -> KeyedDigest? { key.address(address) }
}

extension LinkAttribution {
    private func link(
        shown url: String, _ install: Install, _ project: Project
    ) async throws(AttributionProblem) -> AttributedLink? {
        do throws(AttributionProblem) {
            return try await finder.link(url, of: project, at: install.opening.time)
        } catch {
            if case .store = error { throw error }
            return nil
        }
    }

    /// What the device proves: a link, a click, or both.
    private func match(
        shown: AttributedLink?, click id: ClickID?, _ install: Install, _ project: Project
    ) async throws(AttributionProblem) -> Match? {
        let opening = install.opening
        var click: LinkClick?
        if let id {
            click = try await self.click(id, opening)
        } else if let shown {
            click = clicks.index.take(of: shown.url, for: opening)
        }
        if let click, let match = try await match(ClickMatch(click: click, confidence: .unique), install, project) {
            return match
        }
        guard click == nil, let shown else { return nil }
        // A click that is not known any more, or used up: the store says which.
        let lifetime = (project.links?.windows ?? ClickWindows()).lifetime(hasReferrer: true)
        let used = id.map { id in
            LinkClick(
                id: id, project: opening.project, app: opening.app, url: shown.url, link: shown.link,
                time: opening.time, expiresAt: opening.time + lifetime, traits: opening.traits)
        }
        // The link alone can be copied: it proves no device.
        let proof: MatchConfidence = .standard
        guard case .attributed(let referral) = try await attribute(used, shown, proof, install, project) else {
            return nil
        }
        countInstall(of: shown, opening)
        return Match(link: shown, confidence: .unique, referral: referral)
    }

    /// A click of this app by its id.
    private func click(_ id: ClickID, _ opening: FirstOpening) async throws(AttributionProblem) -> LinkClick? {
        do throws(StoreError) {
            // Not in memory: it is older than the window, or another caller has it, which the store knows.
            var click = clicks.index.click(id)
            if click == nil { click = try await store.click(id, at: opening.time) }
            guard let click, click.project == opening.project, click.app == opening.app,
                click.expiresAt > opening.time
            else { return nil }
            return clicks.index.take(id) ?? click
        } catch {
            throw .store(error)
        }
    }

    /// Gives an install the link of a click, when the link works and the store agrees.
    private func match(
        _ found: ClickMatch, _ install: Install, _ project: Project
    ) async throws(AttributionProblem) -> Match? {
        do throws(AttributionProblem) {
            guard let link = try await link(shown: found.click.url, install, project),
                case .attributed(let referral) = try await attribute(
                    found.click, link, found.confidence, install, project)
            else { return nil }
            countInstall(of: link, install.opening)
            return Match(link: link, confidence: found.confidence, referral: referral)
        } catch {
            // Nothing was kept: the click waits for the next who asks.
            clicks.index.insert(found.click, at: install.opening.time)
            throw error
        }
    }

    private func attribute(
        _ click: LinkClick?, _ link: AttributedLink, _ confidence: MatchConfidence, _ install: Install,
        _ project: Project
    ) async throws(AttributionProblem) -> AttributionResult {
        let opening = install.opening
        do throws(StoreError) {
            return try await store.attribute(
                NewAttribution(
                    project: opening.project, app: opening.app, click: click, install: install.id.flatMap(key.install),
                    confidence: confidence, invitation: link.invitation, address: opening.traits.address,
                    rules: project.links?.referralRules ?? ReferralRules(),
                    time: opening.time))
        } catch {
            throw .store(error)
        }
    }

    private func countInstall(of link: AttributedLink, _ opening: FirstOpening) {
        // Dynamic Links counted installs by the Play Store alone.
        if opening.app.platform == .android { note(.appInstall, of: link, on: .android, at: opening.time) }
        note(.appFirstOpen, of: link, on: opening.app.platform, at: opening.time)
    }

    private func note(_ event: LinkEvent, of link: AttributedLink, on platform: Platform, at time: Timestamp) {
        guard let id = link.link else { return }
        let linkPlatform: LinkPlatform =
            switch platform {
            case .apple: .ios
            case .android: .android
            case .web: .other
            }
        let day = Int((Double(time.seconds) / 86_400).rounded(.down))
        count(LinkCount(link: id, day: day, platform: linkPlatform, event: event, count: 1))
    }
}
