import HTTPTypes
import PushModel
import Store

extension OpenAPI {
    /// How deliveries go now.
    static let status = Area(
        name: "Status",
        operations: [
            .project(
                .get, "status", "getStatus",
                "Says how a project's deliveries go now: pauses, backlog, reasons, connections, store, certificates.",
                answer: .named("ProjectStatus"))
        ],
        schemas: [
            "ProjectStatus": .object(
                [
                    "time": .time,
                    "pauses": .list(of: .named("Pause")),
                    "backlog": .list(of: .named("BacklogShare")),
                    "reasons": .list(of: .named("ReasonCount")).saying(
                        "Of deliveries that ended within the last hour and were not accepted, since the gateway's start."
                    ),
                    "upstreams": .list(of: .named("UpstreamStatus")),
                    "store": .object(
                        ["writable": .boolean, "problems": .list(of: .string)], required: ["writable", "problems"]),
                    "disk": .object(
                        [
                            "freeBytes": .integer, "limitBytes": .integer,
                            "low": .boolean.saying("true while new messages are refused."),
                            "daysLeft": .integer.saying("Until the limit, at the rate of the last day."),
                        ], required: ["limitBytes", "low"]),
                    "certificates": .list(of: .named("CertificateStatus")),
                    "credentials": .list(of: .named("CredentialStatus")),
                ],
                required: [
                    "time", "pauses", "backlog", "reasons", "upstreams", "store", "certificates", "credentials",
                ]),
            "CredentialStatus": .object(
                [
                    "app": .string, "platform": .string.saying("ANDROID or WEB; without one the app is Apple's."),
                    "kind": .choice(CredentialStatus.Kind.allCases.map(\.rawValue)),
                    "name": .string.saying("Team and key id, an account's address, a public key."), "file": .string,
                    "fileTime": .time.saying("When the file was written last, as it was read."),
                    "validUntil": .time.saying("Of a certificate."),
                    "lastUsed": .time.saying(
                        """
                        The last answer of the push service that shows that it takes the credential, since the connections to it \
                        were last opened; those to push services of browsers are closed after ten minutes without a push.
                        """
                    ),
                    "lastError": .string.saying(
                        "The last reason for which pushes with it were refused, or did not get through."),
                    "lastErrorTime": .time,
                ], required: ["app", "kind", "name", "file"]),
            "Pause": .object(
                [
                    "upstream": .string, "part": .choice(["everything", "topic", "app", "unproven"]),
                    "topic": .string, "project": .string, "app": .string, "platform": .string,
                    "environment": .string,
                    "reason": .string, "since": .time, "nextProbe": .time,
                ],
                required: ["upstream", "part", "reason", "since", "nextProbe"]),
            "BacklogShare": .object(
                [
                    "lane": .choice(Lane.allCases.map(\.rawValue)),
                    "app": .string.saying("Missing: recipients of broadcasts whose apps are not known yet."),
                    "platform": .string.saying("ANDROID or WEB; without one an app is Apple's."),
                    "waiting": .integer, "inFlight": .integer,
                    "paused": .integer.saying("What waits of messages that are paused."),
                ],
                required: ["lane", "waiting", "inFlight", "paused"]),
            "ReasonCount": .object(
                [
                    "outcome": .choice(LedgerOutcome.allCases.map { $0.rawValue.uppercased() }), "reason": .string,
                    "count": .integer,
                ],
                required: ["outcome", "reason", "count"]),
            "UpstreamStatus": .object(
                [
                    "name": .string, "reachable": .boolean, "lastFailure": .string, "connections": .integer,
                    "streamsInUse": .integer, "streamLimit": .integer, "queued": .integer, "queueLimit": .integer,
                    "circuit": .choice(UpstreamCircuit.allCases.map(\.rawValue)), "paceLimit": .integer,
                    "clockSkew": .string,
                ],
                required: ["name", "reachable", "connections", "streamsInUse", "streamLimit", "queued", "circuit"]),
            "CertificateStatus": .object(
                [
                    "subject": .string.saying("`listener`, or the bundle id of the app that pushes with it."),
                    "file": .string, "validUntil": .time,
                ],
                required: ["subject", "file", "validUntil"]),
        ])
}
