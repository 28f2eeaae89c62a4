import HTTPTypes
import PushModel
import Store

/// Who may do what: operators, keys, service accounts, the audit log.
enum AccessPages {
    static let routes: [ConsoleRoute] = [
        .get("access", .viewer) { try await page($0) }, .get("audit", .admin, audit),
    ]

    /// A secret that was just made.
    struct NewSecret: Sendable {
        let title: String
        let value: String
    }

    /// How many operators the page shows.
    private static let operatorLimit = 100

    /// The page, with a secret that is shown once.
    static func page(_ call: ConsoleCall, showing secret: NewSecret? = nil) async throws -> Reply {
        let operators = try await call.store.operators(of: call.project.id)
        let keys = try await call.store.apiKeys(of: call.project.id)
        let accounts = try await call.store.serviceAccountKeys(of: call.project.id)
        var model: Model = [
            "operators": operators.prefix(operatorLimit).map { found(operator: $0, call) },
            "keys": keys.reversed().prefix(200).map { key($0, at: call.now) }, "hasKeys": !keys.isEmpty,
            "accounts": Self.accounts(accounts), "hasAccounts": !accounts.isEmpty,
        ]
        if operators.count > operatorLimit {
            model["moreOperators"] = Format.count(operators.count - operatorLimit, "other operator")
        }
        if let secret { model["secret"] = ["title": secret.title, "value": secret.value] as Model }
        return .page(.access, "Access", menu: .access, model)
    }

    private static func found(operator found: Operator, _ call: ConsoleCall) -> Model {
        let means =
            ["links"] + (found.passwordHash == nil ? [] : ["password"]) + (found.oneTimeKey == nil ? [] : ["codes"])
        return [
            "name": found.name.rawValue, "operatorRole": found.roles[call.project.id]?.rawValue ?? "–",
            "means": means.joined(separator: ", "), "made": Format.time(found.createdAt),
            "isSelf": found.name == call.signedIn.owner.name,
        ]
    }

    private static func key(_ key: APIKeyRecord, at now: Timestamp) -> Model {
        let isOver = key.expiresAt.map { $0 <= now } ?? false
        var model: Model = [
            "id": key.id, "name": key.name ?? "–", "keyRole": key.role.rawValue,
            "isLive": key.revokedAt == nil && !isOver, "ended": key.revokedAt == nil ? "over" : "revoked",
        ]
        model["used"] = key.lastUsedAt.map(Format.time)
        model["ends"] = key.expiresAt.map(Format.time)
        return model
    }

    private static func accounts(_ keys: [ServiceAccountIdentity]) -> [Model] {
        var emails: [ServiceAccountEmail] = []
        for identity in keys where !emails.contains(identity.account.email) { emails.append(identity.account.email) }
        return emails.prefix(200).compactMap { email in
            let own = keys.filter { $0.account.email == email }
            guard let account = own.first?.account else { return nil }
            let isDisabled = account.disabledAt != nil
            let live = own.count { $0.key.revokedAt == nil }
            return [
                "email": email.rawValue, "accountRole": account.role.rawValue,
                "keys": "\(Format.count(live, "key")) in use", "isDisabled": isDisabled,
                "state": isDisabled ? "disabled" : "works", "kind": isDisabled ? "dim" : "good",
            ]
        }
    }

    // MARK: Audit

    private static let size = 50

    @Sendable private static func audit(_ call: ConsoleCall) async throws -> Reply {
        let query = call.visit.query
        var filter = AuditFilter(project: call.project.id)
        filter.action = query["action"].flatMap(AuditAction.init(rawValue:))
        filter.subject = query["subject"]
        let page = try await call.list { () async throws(StoreError) in
            try await call.store.auditEntries(filter, after: query["after"], limit: size)
        }
        var model: Model = [
            "subject": query.text("subject"), "hasRows": !page.elements.isEmpty,
            "actions": AuditAction.allCases.map { action -> Model in
                ["value": action.rawValue, "selected": action == filter.action]
            },
            "rows": page.elements.map { entry -> Model in
                let details = entry.details.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }
                return [
                    "time": Format.time(entry.time), "action": entry.action.rawValue, "subject": entry.subject,
                    "details": details.joined(separator: ", "), "by": entry.credential.words,
                    "from": entry.credential.address ?? "–",
                ]
            },
        ]
        if let next = page.nextCursor {
            let kept = ["action", "subject"].compactMap { name in query[name].map { "\(name)=\($0.urlEncoded)&" } }
            model["next"] = "\(call.root)/audit?\(kept.joined())after=\(next.urlEncoded)"
        }
        return .page(.audit, "Audit log", menu: .access, model)
    }
}

/// The configuration as read.
enum SettingPages {
    static let routes: [ConsoleRoute] = [.get("settings", .viewer, page)]

    @Sendable private static func page(_ call: ConsoleCall) async throws -> Reply {
        let own = SettingSection(
            "Project \(call.project.id)",
            [
                .init("number", String(call.project.number)), .init("weight", String(call.project.weight)),
                .init("apps", call.project.apps.keys.sorted().map(\.id.rawValue).joined(separator: ", ")),
                .init("stale.afterDays", String(call.project.stale.afterDays)),
                .init("stale.action", "\(call.project.stale.action)"),
                .init("requiresInstallation", String(call.project.requiresInstallation)),
                .init("links.prefixes", call.project.links?.prefixes.map(\.url).joined(separator: ", ") ?? "none"),
            ])
        return .page(
            .settings, "Settings", menu: .access,
            [
                "sections": ([own] + call.services.settings).map { section -> Model in
                    [
                        "title": section.title,
                        "rows": section.rows.map { ["name": $0.name, "value": $0.value] as Model },
                    ]
                }
            ])
    }
}
