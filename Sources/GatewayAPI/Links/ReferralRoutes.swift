import Hummingbird
import JSON
import Links
import PushModel
import Store

/// Invitations: a link for each inviter and campaign, conversions, rewards and figures.
enum ReferralRoutes {
    /// Where App Invites took conversions.
    static let legacyPath = "/v1/convertInvitation"

    static let all: [Route] = [
        .project(.post, "referral/invitations", .referral, invite),
        .project(.post, "referral/conversions", .referral, convert),
        .project(.post, "referral/referrals/{referral}/decision", .decideReferral, decide),
        .project(.get, "referral/stats", .readReferral, stats),
        .project(.delete, "referral/users/{user}", .decideReferral, erase),
        Route(method: .post, path: legacyPath, scope: .keyProject(.referral, convertLegacy)).withQueryKey,
    ]

    /// The most invitations that figures are given of at once.
    private static let statsLimit = 1000

    @Sendable private static func invite(_ call: ProjectCall) async throws -> Response {
        let body = try await call.json()
        try body.refuseUnknown(except: ["inviter", "campaign", "long_dynamic_link", "notice"])
        let inviter = try user("inviter", in: body)
        let campaign = try AttributionBody(body).required("campaign")
        guard campaign.isMade(of: "-_.~", upTo: 64) else {
            throw FCMError.badRequest("campaign", "campaign must be 1 to 64 of [A-Za-z0-9-_.~].")
        }
        let link = try call.longLink(AttributionBody(body).required("long_dynamic_link"))
        let (invitation, _) = try await call.referrals.invite(
            Invitation(
                id: .random(), project: call.project.id, inviter: inviter, code: ReferralCode.random(),
                campaign: campaign, prefix: link.prefix.name, parameters: link.parameters.query,
                notice: try notice(in: body), createdAt: call.now))
        let prefix = call.project.links?.prefixes.first { $0.name == invitation.prefix } ?? link.prefix
        return Response(
            json: .object([
                .init("invitationId", .string(invitation.id.rawValue)),
                .init("shortLink", .string("\(prefix.url)/i/\(invitation.id)")),
                .init("code", .string(invitation.code)),
                .init("inviter", .string(invitation.inviter.rawValue)), .init("campaign", .string(invitation.campaign)),
            ]))
    }

    @Sendable private static func convert(_ call: ProjectCall) async throws -> Response {
        let body = try await call.json()
        try body.refuseUnknown(except: ["referral_id", "invitation_id", "invitee"])
        let fields = AttributionBody(body)
        let invitee = body.value("invitee") == nil ? nil : try user("invitee", in: body)
        guard let id = fields.text("referral_id") ?? fields.text("invitation_id") else {
            throw FCMError.badRequest("referralId", "referralId is missing.")
        }
        return try await call.convert(id, by: invitee)
    }

    @Sendable private static func convertLegacy(_ call: ProjectCall) async throws -> Response {
        let body = AttributionBody(try await call.json())
        guard let id = body.object("invitation_id").text("id") ?? body.text("invitation_id") else {
            throw FCMError.badRequest("invitationId.id", "invitationId.id is missing.")
        }
        return try await call.convert(id, by: nil)
    }

    @Sendable private static func decide(_ call: ProjectCall) async throws -> Response {
        let body = try await call.json()
        try body.refuseUnknown(except: ["decision"])
        let decision: ReferralDecision
        switch try body.string("decision") {
        case "GRANT": decision = .grant
        case "DECLINE": decision = .decline
        default: throw FCMError.badRequest("decision", "decision must be GRANT or DECLINE.")
        }
        guard let id = ReferralID(rawValue: try call.parameter("referral")) else { throw FCMError(.notFound) }
        return Response(json: try await call.change(id, decision).json(notice: nil))
    }

    @Sendable private static func stats(_ call: ProjectCall) async throws -> Response {
        let inviter = try call.query["inviter"].map { text throws(FCMError) in
            guard let user = UserID(rawValue: text) else {
                throw .badRequest("inviter", "A user is \(UserID.expectation).")
            }
            return user
        }
        let counts = try await call.referrals.referralCounts(
            of: call.project.id, inviter: inviter, campaign: call.query["campaign"], limit: statsLimit)
        return Response(json: .object([.init("referralStats", .array(counts.map(\.json)))]))
    }

    @Sendable private static func erase(_ call: ProjectCall) async throws -> Response {
        guard let user = UserID(rawValue: try call.parameter("user")) else {
            throw FCMError.badRequest("user", "A user is \(UserID.expectation).")
        }
        let count = try await call.referrals.eraseReferrals(of: user, in: call.project.id)
        return Response(json: .object([.init("erased", .integer(count))]))
    }

    private static func user(_ name: String, in body: ObjectReader) throws(FCMError) -> UserID {
        guard let text = try body.string(name), let user = UserID(rawValue: text), user.isVisible else {
            throw .badRequest(name, "\(name) must be a user: \(UserID.expectation).")
        }
        return user
    }

    private static func notice(in body: ObjectReader) throws(FCMError) -> InviterNotice? {
        guard let notice = try body.object("notice", type: "TYPE_MESSAGE") else { return nil }
        try notice.refuseUnknown(except: ["title", "body"])
        guard let title = try notice.string("title"), let text = try notice.string("body"),
            title.utf8.count + text.utf8.count <= 2000
        else { throw .badRequest("notice", "notice must have a title and a body, of 2000 bytes together.") }
        return InviterNotice(title: title, body: text)
    }
}

/// What stands for an inviter in links: 10 characters that people don't mistake for each other.
enum ReferralCode {
    private static let alphabet = Array("23456789ABCDEFGHJKLMNPQRSTUVWXYZ".utf8)

    /// A code of 50 random bits.
    static func random() -> String {
        var random = SystemRandomNumberGenerator()
        let bytes = (0..<10).map { _ in alphabet[Int.random(in: 0..<alphabet.count, using: &random)] }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension ProjectCall {
    /// Where invitations are.
    ///
    /// - Throws: NOT_FOUND when the project has no links.
    fileprivate var referrals: any ReferralStore {
        get throws(FCMError) { try attribution.referrals }
    }

    /// A long link that a caller gives, judged as one that is made.
    fileprivate func longLink(_ url: String) throws(FCMError) -> LongLink {
        guard let settings = project.links else { throw FCMError(.notFound, "The project \(project.id) has no links.") }
        do throws(LinkProblem) {
            let link = try LongLink(url: url, prefixes: settings.prefixes)
            _ = try LinkCheck(project: project, policy: LinkPolicy(settings)).check(link)
            return link
        } catch {
            throw .badRequest("longDynamicLink", "\(error)")
        }
    }

    fileprivate func change(_ id: ReferralID, _ decision: ReferralDecision) async throws(FCMError) -> ReferralChange {
        let attribution = try attribution
        do throws(StoreError) {
            let change = try await attribution.referrals.change(
                id, in: project.id, decision, project.links?.referralRules ?? ReferralRules(), at: now)
            if let change { return change }
        } catch {
            throw FCMError(error)
        }
        throw FCMError(.notFound, "The project has no such referral.")
    }

    /// Converts a referral, by its id or by that of an invitation that has one to convert.
    fileprivate func convert(_ text: String, by invitee: UserID?) async throws(FCMError) -> Response {
        let change = try await change(referral(text), .conversion(invitee: invitee))
        return Response(json: change.json(notice: try await notify(change)))
    }

    private func referral(_ text: String) async throws(FCMError) -> ReferralID {
        guard let id = ReferralID(rawValue: text) else {
            throw .badRequest("referralId", "referralId must be 22 characters of [A-Za-z0-9_-].")
        }
        let referrals = try referrals
        let invitation: Invitation?
        let open: [Referral]
        do throws(StoreError) {
            if try await referrals.referral(id, in: project.id) != nil { return id }
            invitation = try await referrals.invitation(InvitationID(id.value))
            open = try await referrals.openReferrals(of: InvitationID(id.value), limit: 2)
        } catch {
            throw FCMError(error)
        }
        guard invitation?.project == project.id else { throw FCMError(.notFound, "The project has no such referral.") }
        guard open.count == 1 else {
            throw FCMError(
                .failedPrecondition,
                open.isEmpty
                    ? "No install of the invitation waits for a conversion."
                    : "Several installs of the invitation wait for a conversion: name one by its referralId.",
                reason: .invalidField)
        }
        return open[0].id
    }
}
