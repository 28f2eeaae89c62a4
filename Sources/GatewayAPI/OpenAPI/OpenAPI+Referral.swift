import HTTPTypes

extension OpenAPI {
    /// Invitations of users and what they lead to.
    static let referral = Area(
        name: "Referral",
        operations: [
            .project(
                .post, "referral/invitations", "createInvitation",
                "Makes the link of an inviter for a campaign, or finds it.",
                body: .json(
                    .request(
                        [
                            "inviter": .string, "campaign": .string, "longDynamicLink": .string,
                            "notice": .request(["title": .string, "body": .string], required: ["title", "body"])
                                .saying("The push to the inviter when somebody they invited converts."),
                        ], required: ["inviter", "campaign", "longDynamicLink"])),
                answer: .object(
                    [
                        "invitationId": .string, "shortLink": .string, "code": .string, "inviter": .string,
                        "campaign": .string,
                    ], required: ["invitationId", "shortLink", "code", "inviter", "campaign"]), errors: [404]),
            .project(
                .post, "referral/conversions", "createConversion",
                "Says that what the campaign is for was done, once for each referral; tells the inviter.",
                body: .json(.named("Conversion")), answer: .named("Referral"), errors: [404]),
            .project(
                .post, "referral/referrals/{referral}/decision", "decideReferral",
                "Grants or declines a reward that waits for a decision.",
                body: .json(.request(["decision": .choice(["GRANT", "DECLINE"])], required: ["decision"])),
                answer: .named("Referral"), errors: [404]),
            .project(
                .get, "referral/stats", "getReferralStats", "How far referrals came, by inviter and campaign.",
                parameters: [
                    .query("inviter", .string, "Only of this inviter."),
                    .query("campaign", .string, "Only of this campaign."),
                ],
                answer: .object(["referralStats": .list(of: .named("ReferralStats"))]), errors: [404]),
            .project(
                .delete, "referral/users/{user}", "eraseReferralUser",
                "Forgets a user: invitations and referrals as inviter, the name as invitee.",
                answer: .object(["erased": .integer], required: ["erased"]), errors: [404]),
            Operation(
                method: .post, path: ReferralRoutes.legacyPath, id: "convertInvitation",
                summary: "A conversion in the words of App Invites.",
                body: .json(.object(["invitationId": .object(["id": .string])], required: ["invitationId"])),
                answers: [200: .json(.named("Referral"))], errors: [404]),
        ],
        schemas: [
            "Conversion": .request(
                [
                    "referralId": .string,
                    "invitationId": .string.saying(
                        "Instead of `referralId`, when one install alone waits for a conversion."),
                    "invitee": .string.saying("Who was invited."),
                ]),
            "Referral": .object(
                [
                    "referralId": .string, "invitationId": .string,
                    "state": .choice(["CLICKED", "INSTALLED", "FIRST_OPEN", "CONVERTED", "REWARDED", "REJECTED"]),
                    "reason": .string, "attributionConfidence": .choice(["WEAK", "DEFAULT", "UNIQUE"]),
                    "inviterNotice": .string.saying("The name of the message to the inviter."),
                ], required: ["referralId", "invitationId", "state"]),
            "ReferralStats": .object(
                [
                    "inviter": .string, "campaign": .string, "invitationId": .string, "clicked": .string,
                    "installed": .string, "firstOpened": .string, "converted": .string, "pending": .string,
                    "rewarded": .string, "rejected": .string,
                ], required: ["inviter", "campaign", "invitationId"]),
        ])
}
