import HTTPTypes
import Store

extension OpenAPI {
    /// Registrations of app installs.
    static let registrations = Area(
        name: "Registrations",
        operations: [
            .project(
                .post, "registrations", "createRegistration",
                "Registers an app install; a client needs an installation, unless the project takes others too.",
                body: .json(.named("RegistrationRequest")),
                answer: .named("NewRegistration")),
            .project(
                .get, "registrations", "listRegistrations", "Lists registrations that have not ended.",
                parameters: Parameter.page(limit: 1000, default: 100) + [
                    .query(
                        "filter", .string,
                        "`user=\"alice\"`, `state=ACTIVE`, `state=QUARANTINED` or `state=STALE`.")
                ],
                answer: .object(["registrations": .list(of: .named("Registration")), "nextPageToken": .string])),
            .project(
                .get, "registrations/{registration}", "getRegistration",
                "Reads a registration, also one that has ended.",
                answer: .named("Registration"), errors: [404]),
            .project(
                .get, "registrations/{registration}/audit", "listRegistrationAudit",
                "Lists the newest 1000 changes of user and device token, the newest first.",
                answer: .object(["entries": .list(of: .named("RegistrationAudit"))]), errors: [404]),
            .project(
                .patch, "registrations/{registration}", "changeRegistration",
                "Changes what is given; a sender changes the user alone. With another user a new registration takes its "
                    + "place.",
                body: .json(.named("RegistrationRequest")),
                answer: .named("Registration"), errors: [404]),
            .project(
                .delete, "registrations/{registration}", "deleteRegistration", "Ends a registration.",
                answer: .object([:]), errors: [404]),
            .project(
                .post, "registrations:liftQuarantine", "liftQuarantine", "Ends the quarantines of an app.",
                body: .json(
                    .request(
                        [
                            "app": .string.saying(
                                "Its id, or `platform:id` where the project has it on several platforms."),
                            "startTime": .time.saying("Only quarantines since then."),
                        ],
                        required: ["app"])),
                answer: .object(["liftedCount": .integer], required: ["liftedCount"])),
            .project(
                .post, "registrations:check", "checkRegistrations",
                "Tells the states of registrations by their tokens.",
                body: .json(
                    .request(
                        ["tokens": .list(of: .string, count: 1...RegistrationCheck.tokenLimit)], required: ["tokens"])),
                answer: .object(["results": .list(of: .named("RegistrationState"))], required: ["results"])),
            .project(
                .post, "registrations:prune", "pruneRegistrations",
                "Ends registrations that are in quarantine for long.",
                body: .json(
                    .request(
                        [
                            "state": .choice(["QUARANTINED"]), "olderThan": .duration,
                            "validateOnly": .boolean.saying("They are counted and stay."),
                        ], required: ["state", "olderThan"])),
                answer: .object(["prunedCount": .integer], required: ["prunedCount"])),
            .project(
                .delete, "users/{user}", "eraseUser",
                "Ends a user's registrations and removes what is kept of the person.",
                answer: .object(
                    [
                        "registrations": .integer, "messages": .integer,
                        "links": .integer.saying("Short links of these messages: they are deleted."),
                        "receipts": .integer, "deviceGroups": .integer.saying("Those that had no other member left."),
                        "auditEntries": .integer.saying("Entries that have a digest in place of the name now."),
                        "rewritten": .boolean.saying("Whether no file of the store holds a copy any more."),
                        "reason": .choice(CleaningObstacle.allCases.map(\.wire)).saying(
                            "READER: the store is being read as it was; the gateway goes on trying. "
                                + "FILE_SIZE: unused parts of pages may hold copies until a VACUUM. "
                                + "SERVER: on PostgreSQL, old rows stay until its VACUUM, and longer in its log, archives "
                                + "and standbys."),
                    ],
                    required: [
                        "registrations", "messages", "links", "receipts", "deviceGroups", "auditEntries", "rewritten",
                    ])),
        ],
        schemas: [
            "RegistrationRequest": .request(
                [
                    "ios": .request([
                        "apns_token": .text(matching: "^([0-9a-fA-F]{2}){32,2048}$").saying(
                            "The APNs device token in hex."),
                        "bundle_id": .string, "apns_environment": .choice(["PROD", "SANDBOX"]),
                        "app_version": .string.with("maxLength", .integer(255)),
                    ]),
                    "android": .request([
                        "fcm_token": .string.saying("The token that Firebase's SDK gave the app."),
                        "package_name": .string, "app_version": .string.with("maxLength", .integer(255)),
                    ]),
                    "web": .request([
                        "origin": .string,
                        "endpoint": .string.saying(
                            "Of a push service of the browsers, or of one that the project names."), "p256dh": .string,
                        "auth": .string,
                        "application_pub_key": .string,
                        "keys": .request(["p256dh": .string, "auth": .string]).saying(
                            "As `PushSubscription.toJSON()` has them."),
                        "expiration_time": .integer,
                    ]), "fcm_sdk_version": .string, "user": .string.saying("Who uses the device; empty for no user."),
                    "userToken": .string.saying("A Firebase custom token for the user: what a client proves it with."),
                ]
            ).saying("Of ios, android or web."),
            "NewRegistration": .object(
                [
                    "name": .string.saying("`projects/<project>/registrations/<installation id>`."),
                    "token": .string.saying("What senders address."),
                ],
                required: ["name", "token"]),
            "Registration": .object(
                [
                    "name": .string, "token": .string.saying("Only for those who may hold it."), "app": .string,
                    "apnsEnvironment": .choice(["PROD", "SANDBOX"]), "platform": .string, "pushService": .string,
                    "subscribeTime": .time, "appVersion": .string, "user": .string,
                    "createTime": .time, "refreshTime": .time, "state": .choice(["ACTIVE", "QUARANTINED", "ENDED"]),
                    "stale": .boolean, "quarantineTime": .time, "quarantineReason": .string, "endTime": .time,
                    "endCause": .string,
                ],
                required: ["name", "app", "createTime", "refreshTime", "state"]),
            "RegistrationState": .object(
                [
                    "state": .choice([
                        "ACTIVE", "QUARANTINED", "ENDED", "UNREGISTERED", "SENDER_ID_MISMATCH", "INVALID_ARGUMENT",
                    ]).saying("UNREGISTERED: unknown. SENDER_ID_MISMATCH: of another project."),
                    "refreshTime": .time, "stale": .boolean, "quarantineTime": .time, "quarantineReason": .string,
                    "endTime": .time, "endCause": .string,
                ],
                required: ["state"]
            ).saying("In the order of the request."),
            "RegistrationAudit": .object(
                [
                    "time": .time, "cause": .string, "app": .string, "registration": .string,
                    "formerRegistration": .string, "user": .string, "formerUser": .string,
                    "credential": .string.saying("What the change was made with."),
                ],
                required: ["time", "cause", "app", "registration"]),
        ])
}
