package import PushModel

/// The types of events as subscribers name them.
package enum EventType: String, Hashable, Sendable, CaseIterable {
    case messageAccepted = "message.accepted"
    case messagePaused = "message.paused"
    case messageResumed = "message.resumed"
    case messageCancelled = "message.cancelled"
    /// Where a message that takes long stands; only for projects in which an endpoint asks for it.
    case messageProgress = "message.progress"
    case messageFinished = "message.finished"
    case deliveryAccepted = "delivery.accepted"
    case deliveryRejected = "delivery.rejected"
    case deliveryExpired = "delivery.expired"
    case deliveryCancelled = "delivery.cancelled"
    case deliveryReceived = "delivery.received"
    case deliveryOpened = "delivery.opened"
    case deliveryImpression = "delivery.impression"
    case deliveryDismissed = "delivery.dismissed"
    /// Events that can not be read any more.
    case deliveryGap = "delivery.gap"
    case registrationEnded = "registration.ended"
    case registrationReplaced = "registration.replaced"
    case credentialFailing = "credential.failing"
    case credentialRecovered = "credential.recovered"
    case lanePaused = "lane.paused"
    case laneResumed = "lane.resumed"
    case webhookFailing = "webhook.failing"
    case webhookDisabled = "webhook.disabled"
    case linkClicked = "link.clicked"
    case referralInvited = "referral.invited"
    case referralClicked = "referral.clicked"
    case referralInstalled = "referral.installed"
    case referralFirstOpen = "referral.firstOpen"
    case referralConverted = "referral.converted"
    case referralRewarded = "referral.rewarded"
    case referralRejected = "referral.rejected"

    /// Whether there is one for each device: webhooks have them in batches.
    package var isOfDevice: Bool {
        switch self {
        case .deliveryAccepted, .deliveryRejected, .deliveryExpired, .deliveryCancelled, .deliveryReceived,
            .deliveryOpened, .deliveryImpression, .deliveryDismissed:
            true
        case .messageAccepted, .messagePaused, .messageResumed, .messageCancelled, .messageProgress, .messageFinished,
            .deliveryGap, .registrationEnded, .registrationReplaced, .credentialFailing, .credentialRecovered,
            .lanePaused, .laneResumed, .webhookFailing, .webhookDisabled, .linkClicked, .referralInvited,
            .referralClicked, .referralInstalled, .referralFirstOpen, .referralConverted, .referralRewarded,
            .referralRejected:
            false
        }
    }

    /// Whether it says that something went wrong.
    package var isFailure: Bool {
        switch self {
        case .deliveryRejected, .deliveryExpired, .deliveryCancelled, .deliveryGap, .registrationEnded,
            .credentialFailing, .credentialRecovered, .lanePaused, .laneResumed, .webhookFailing, .webhookDisabled,
            .referralRejected:
            true
        case .messageAccepted, .messagePaused, .messageResumed, .messageCancelled, .messageProgress, .messageFinished,
            .deliveryAccepted, .deliveryReceived, .deliveryOpened, .deliveryImpression, .deliveryDismissed,
            .registrationReplaced, .linkClicked, .referralInvited, .referralClicked, .referralInstalled,
            .referralFirstOpen, .referralConverted, .referralRewarded:
            false
        }
    }

    /// The type of a delivery's end.
    package init(_ outcome: LedgerOutcome) {
        switch outcome {
        case .accepted: self = .deliveryAccepted
        case .rejected: self = .deliveryRejected
        case .expired: self = .deliveryExpired
        case .cancelled: self = .deliveryCancelled
        }
    }

    /// The type of what a device reported.
    package init(_ kind: ReceiptKind) {
        switch kind {
        case .received: self = .deliveryReceived
        case .opened: self = .deliveryOpened
        case .impression: self = .deliveryImpression
        case .dismissed: self = .deliveryDismissed
        }
    }

    /// The type of a change of a message.
    package init(_ change: MessageChange) {
        switch change {
        case .accepted: self = .messageAccepted
        case .paused: self = .messagePaused
        case .resumed: self = .messageResumed
        case .cancelled: self = .messageCancelled
        case .progress: self = .messageProgress
        case .complete: self = .messageFinished
        }
    }

    /// The type of a step of a referral.
    package init(_ state: ReferralState) {
        switch state {
        case .invited: self = .referralInvited
        case .clicked: self = .referralClicked
        case .installed: self = .referralInstalled
        case .firstOpen: self = .referralFirstOpen
        case .converted: self = .referralConverted
        case .rewarded: self = .referralRewarded
        case .rejected: self = .referralRejected
        }
    }

    /// The type of the end of a registration.
    package init(_ cause: RegistrationEnd.Cause) {
        switch cause {
        case .replaced, .superseded: self = .registrationReplaced
        case .deleted, .unregistered: self = .registrationEnded
        }
    }

    /// The type of what is said of a route.
    package init(_ notice: RouteNotice) {
        switch (notice.isPaused, notice.isOfCredential) {
        case (true, false): self = .lanePaused
        case (false, false): self = .laneResumed
        case (true, true): self = .credentialFailing
        case (false, true): self = .credentialRecovered
        }
    }
}

extension Event {
    /// Its type.
    package var type: EventType {
        switch kind {
        case .message(_, let change): EventType(change)
        case .delivery(let event): EventType(event.delivery.outcome ?? .accepted)
        case .receipt(let event): EventType(event.kind)
        case .registrationEnded(let ended): EventType(ended.cause)
        case .route(let notice): EventType(notice)
        case .webhook(let notice): notice.isDisabled ? .webhookDisabled : .webhookFailing
        case .click: .linkClicked
        case .referral(let step): EventType(step.state)
        case .forgotten: .deliveryGap
        }
    }
}
