import Foundation

extension DynamicLinks {
    /// Asks once in the life of an install for the link that led to it; `nil` when that was done, or is under way.
    ///
    /// Firebase's SDK counts a failure as done. Here a gateway that did not answer is asked again at the next launch: the
    /// clipboard, which is left alone then, may still prove the match.
    ///
    /// - Parameter clipboard: the text of the clipboard, for the link that the preview page left there. Ask for it only
    ///   when the clipboard has a URL (`UIPasteboard.general.hasURLs`): reading it may prompt the user.
    public func checkForPendingDynamicLink(
        clipboard: String? = nil, device: DynamicLinkDevice = DynamicLinkDevice()
    ) async -> PendingDynamicLink? {
        guard !record.isRetrieved, beginRetrieval() else { return nil }
        let pending = await retrievePendingLink(clipboard: clipboard, device: device)
        if pending.isFinal { record.markRetrieved() }
        isRetrieving.withLock { $0 = false }
        return pending
    }

    private func beginRetrieval() -> Bool {
        isRetrieving.withLock { isRetrieving in
            guard !isRetrieving else { return false }
            isRetrieving = true
            return true
        }
    }

    /// Asks for the link that led to an install, however often that was done.
    public func retrievePendingLink(clipboard: String?, device: DynamicLinkDevice) async -> PendingDynamicLink {
        let proof = options?.customDomains.uniqueMatchLink(inClipboard: clipboard)
        let outcome = await installOutcome(proof: proof, device: device)
        let url: URL? =
            switch outcome {
            case .matched(let link), .unmatched(let link): customSchemeURL(of: link)
            case .dismissed, .unanswered: customSchemeURL(query: "dismiss=1&is_weak_match=1")
            }
        var isFinal = true
        if case .unanswered = outcome { isFinal = false }
        return PendingDynamicLink(
            outcome: outcome, shouldClearClipboard: isFinal && proof != nil, customSchemeURL: url)
    }

    /// Asks `installAttribution`. As in Firebase's SDK the status is not looked at: an object with known members is an
    /// answer, other JSON is the end of it, and everything else is no answer.
    private func installOutcome(proof: URL?, device: DynamicLinkDevice) async -> PendingDynamicLink.Outcome {
        do throws(DynamicLinksError) {
            let gateway = try self.gateway()
            let request = InstallRequest(bundleID: gateway.options.bundleID, device: device, uniqueMatchLink: proof)
            let answer = try await gateway.post(request, to: "installAttribution")
            guard answer.isJSON else {
                throw DynamicLinksError(.unreadableAnswer, "The answer has status \(answer.status) and is no JSON.")
            }
            let parameters = answer.object.map(Self.parameters(ofInstall:)) ?? LinkQuery()
            guard !parameters.items.isEmpty else { return .dismissed }
            let link = DynamicLink(parameters: parameters)
            return link.url == nil ? .unmatched(link) : .matched(link)
        } catch {
            return .unanswered(error)
        }
    }

    /// The parameters that an answer of `installAttribution` stands for.
    private static func parameters(ofInstall answer: JSONObject) -> LinkQuery {
        var parameters = LinkQuery()
        parameters.add(.invitation, answer.identifier("invitationId"))
        parameters.add(.deepLink, answer.text("deepLink"))
        if answer.text("deepLink") != nil {
            let confidence = answer.text("attributionConfidence") ?? ""
            let isKnown = ["WEAK", "DEFAULT", "UNIQUE"].contains(confidence)
            parameters.add(.matchType, isKnown ? confidence.lowercased() : "none")
        }
        parameters.addCampaign(of: answer)
        parameters.add(.iosMinimumVersion, answer.text("appMinimumVersion"))
        parameters.add(.addressVersion, answer.text("requestIpVersion"))
        parameters.add(.matchMessage, answer.text("matchMessage"))
        return parameters
    }
}
