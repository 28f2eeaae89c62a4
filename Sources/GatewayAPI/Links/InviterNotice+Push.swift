import Delivery
import FCMWire
import JSON
import Logging
import PushModel
import Store

extension ProjectCall {
    /// Tells the inviter of a conversion, once: the message has an idempotency key of the referral, so a conversion that is
    /// called again after a failure sends what is missing and nothing twice.
    ///
    /// - Returns: the name of the message; `nil`: there is none, because nothing is to be told, the inviter has no device, or
    ///   it could not be accepted now.
    func notify(_ change: ReferralChange) async throws(FCMError) -> String? {
        let (referral, invitation) = (change.referral, change.invitation)
        guard let notice = invitation.notice, [.converted, .rewarded].contains(referral.progress.state),
            now - referral.changedAt < IdempotencyKey.standardLifetime
        else { return nil }
        do throws(FCMError) {
            let submission = Submission(
                project: project, recipient: try await recipient(of: .user(invitation.inviter)),
                content: try Self.content(notice, referral, invitation),
                idempotency: IdempotencyKey(
                    key: "herald.referral.\(referral.id)", digest: referral.id.value.bytes + referral.id.value.bytes),
                credential: credential, origin: trace)
            return name(of: try await accept(submission).id)
        } catch {
            // The conversion is kept: the answer must not say otherwise.
            logger.info(
                "Inviter not told",
                metadata: ["project.id": "\(project.id)", "referral.id": "\(referral.id)", "error": "\(error.reason)"])
            return nil
        }
    }

    private static func content(
        _ notice: InviterNotice, _ referral: Referral, _ invitation: Invitation
    ) throws(FCMError) -> FCMMessage {
        let message = JSONValue.object([
            .init(
                "notification",
                .object([.init("title", .string(notice.title)), .init("body", .string(notice.body))])),
            .init(
                "data",
                .object([
                    .init("referralId", .string(referral.id.rawValue)),
                    .init("invitationId", .string(invitation.id.rawValue)),
                    .init("campaign", .string(invitation.campaign)),
                    .init("state", .string(referral.progress.state.name)),
                ])),
        ])
        do throws(InvalidMessage) {
            return try FCMMessage(source: message)
        } catch {
            throw FCMError(error)
        }
    }
}

extension ReferralChange {
    /// As callers see it.
    ///
    /// - Parameter notice: the name of the message to the inviter.
    func json(notice: String?) -> JSONValue {
        var members: [JSONValue.Member] = [
            .init("referralId", .string(referral.id.rawValue)),
            .init("invitationId", .string(referral.invitation.rawValue)),
            .init("state", .string(referral.progress.state.name)),
        ]
        if let reason = referral.progress.rejection { members.append(.init("reason", .string(reason.word))) }
        if let confidence = referral.confidence {
            members.append(.init("attributionConfidence", .string(confidence.name)))
        }
        if let notice { members.append(.init("inviterNotice", .string(notice))) }
        return .object(members)
    }
}

extension ReferralCounts {
    /// As callers see it: counts are texts, as in `linkStats`.
    var json: JSONValue {
        let counts = [
            ("clicked", clicked), ("installed", opened), ("firstOpened", opened), ("converted", converted),
            ("pending", pending), ("rewarded", rewarded), ("rejected", rejected),
        ]
        return .object(
            [
                .init("inviter", .string(inviter.rawValue)), .init("campaign", .string(campaign)),
                .init("invitationId", .string(invitation.rawValue)),
            ] + counts.map { .init($0.0, .string(String($0.1))) })
    }
}
