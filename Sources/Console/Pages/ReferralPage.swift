import HTTPTypes
import JSON
import Links
import PushModel
import Store

/// How far the referrals of a project came: by campaign, and by inviter.
enum ReferralPage {
    static let routes: [ConsoleRoute] = [.get("links/referral", .viewer, page)]

    /// How many invitations the table shows.
    private static let limit = 200
    /// The steps, with their names in the API's answer.
    private static let steps = [
        ("clicked", "clicked"), ("firstOpened", "opened"), ("converted", "converted"), ("pending", "waiting"),
        ("rewarded", "rewarded"), ("rejected", "rejected"),
    ]

    @Sendable private static func page(_ call: ConsoleCall) async throws -> Reply {
        let query = call.visit.query
        let filter = ["inviter", "campaign"].compactMap { name in
            query[name].map { "\(name)=\($0.urlEncoded)" }
        }
        let path = call.apiPath("referral", "stats") + (filter.isEmpty ? "" : "?" + filter.joined(separator: "&"))
        let rows = try await call.act(.get, path)["referralStats"]?.elements ?? []
        let model: Model = [
            "inviter": query.text("inviter"), "campaign": query.text("campaign"), "isFiltered": !filter.isEmpty,
            "heads": steps.map(\.1), "hasRows": !rows.isEmpty, "campaigns": campaigns(rows),
            "rows": rows.prefix(limit).map(row), "isCut": rows.count > limit,
            "limit": Format.number(limit),
        ]
        return .page(.referral, "Referral", menu: .links, model)
    }

    private static func row(_ row: JSONValue) -> Model {
        let inviter = row["inviter"]?.stringValue ?? ""
        return [
            "inviter": inviter, "inviterEncoded": inviter.urlEncoded, "campaign": row["campaign"]?.stringValue ?? "",
            "counts": steps.map { name, title -> Model in
                ["title": title, "count": Format.number(row[name]?.integerValue ?? 0)]
            },
        ]
    }

    /// The sums of each campaign, with what the steps are of those who clicked.
    private static func campaigns(_ rows: [JSONValue]) -> [Model] {
        var sums: [String: [String: Int]] = [:]
        for row in rows {
            let campaign = row["campaign"]?.stringValue ?? ""
            for (name, _) in steps { sums[campaign, default: [:]][name, default: 0] += row[name]?.integerValue ?? 0 }
        }
        return sums.sorted { $0.key < $1.key }.map { campaign, sums in
            let clicked = sums["clicked"] ?? 0
            return [
                "campaign": campaign,
                "parts": steps.map { name, title -> Model in
                    let count = sums[name] ?? 0
                    let part: Model = [
                        "title": title, "count": Format.number(count), "share": Format.share(count, of: clicked),
                    ]
                    let kind = name == "rejected" ? "rejected" : "accepted"
                    return part.merging(ProgressBar.model([(kind, title, count)], of: clicked)) { own, _ in own }
                },
            ]
        }
    }
}
