import HTTPTypes
import JSON
import Links
import PushModel
import Store

/// The links of a project, and the form that makes one.
enum LinkList {
    static let routes: [ConsoleRoute] = [
        .get("links", .viewer, list), .get("links/new", .sender) { try await form($0) }, .post("links", .sender, make),
        .post("links/preview", .sender, preview),
    ]

    private static let size = 50

    @Sendable private static func list(_ call: ConsoleCall) async throws -> Reply {
        var model: Model = ["hasPrefix": call.project.links != nil]
        if let settings = call.project.links {
            let page = try await call.list { () async throws(StoreError) in
                try await call.store.links(
                    of: call.project.id, LinkFilter(visibilities: [.unarchived, .archived]),
                    after: call.visit.query["after"], limit: size)
            }
            let rows = page.elements.compactMap { row($0, settings, call) }
            model["rows"] = rows
            model["hasRows"] = !rows.isEmpty
            if let next = page.nextCursor { model["next"] = "\(call.root)/links?after=\(next.urlEncoded)" }
        }
        return .page(.links, "Links", menu: .links, model)
    }

    private static func row(_ link: Link, _ settings: LinkSettings, _ call: ConsoleCall) -> Model? {
        guard let prefix = settings.prefixes.first(where: { $0.name == link.key.prefix }) else { return nil }
        let short = "\(prefix.url)/\(link.key.suffix)"
        let (state, kind) = Self.state(of: link, at: call.now)
        return [
            "short": short, "url": "\(call.root)/links/show?short=\(short.urlEncoded)", "name": link.name ?? "–",
            "target": LinkParameters(query: link.parameters)[.link] ?? "", "made": Format.time(link.createdAt),
            "state": state, "kind": kind,
        ]
    }

    /// Where a link stands, and the class of its tag.
    static func state(of link: Link, at now: Timestamp) -> (String, String) {
        switch link.state {
        case .active where link.expiresAt.map { $0 <= now } == true: ("over", "dim")
        case .active: ("active", "good")
        case .blocked: ("blocked", "bad")
        case .deleted: ("deleted", "dim")
        }
    }

    /// The form again, with where its link would open; nothing is made.
    @Sendable private static func preview(_ call: ConsoleCall) async throws -> Reply {
        let form = call.visit.form
        guard let tenant = call.services.linkHosts.tenant(call.project.id) else { throw ConsoleError.notFound }
        let url = "\(form.text("prefix"))/\(form["suffix"] ?? "…")"
        let outcomes: LinkOutcomes
        do throws(LinkProblem) {
            outcomes = try LinkOutcomes(LinkParameters(form), url: url, of: tenant)
        } catch {
            return try await Self.form(call, error: error.message)
        }
        return try await Self.form(call, outcomes: outcomes.model)
    }

    private static func form(
        _ call: ConsoleCall, error: String? = nil, outcomes: Model? = nil
    ) async throws -> Reply {
        guard let settings = call.project.links else { throw ConsoleError.notFound }
        let apps = call.project.apps.keys.sorted()
        var model: Model = [
            "prefixes": settings.prefixes.map { prefix -> Model in
                ["url": prefix.url, "selected": prefix.url == call.visit.form["prefix"]]
            }, "f": call.visit.form.fields,
            "iosApps": apps.filter { $0.platform == .apple }.map(\.id.rawValue),
            "androidApps": apps.filter { $0.platform == .android }.map(\.id.rawValue),
        ]
        model["error"] = error
        model["outcomes"] = outcomes
        return .page(.linkNew, "Make a link", menu: .links, status: error == nil ? .ok : .badRequest, model)
    }

    @Sendable private static func make(_ call: ConsoleCall) async throws -> Reply {
        let answer = try await call.api(.post, "/v1/managedShortLinks:create", body(call.visit.form))
        guard answer.isSuccess, let short = answer.json["managedShortLink"]?["link"]?.stringValue else {
            return try await form(call, error: answer.message)
        }
        return .redirect("\(call.root)/links/show?short=\(short.urlEncoded)&new=1")
    }

    /// The request, as a backend would write it.
    private static func body(_ form: Form) -> JSONValue {
        func object(_ members: [(String, String)]) -> JSONValue? {
            let filled = members.compactMap { name, field in form[field].map { JSONValue.Member(name, .string($0)) } }
            return filled.isEmpty ? nil : .object(filled)
        }
        var info: [JSONValue.Member] = [
            .init("domainUriPrefix", .string(form.text("prefix"))), .init("link", .string(form.text("link").trimmed)),
        ]
        let parts: [(String, JSONValue?)] = [
            ("iosInfo", object([("iosBundleId", "ios"), ("iosAppStoreId", "store")])),
            ("androidInfo", object([("androidPackageName", "android")])),
            ("desktopInfo", object([("desktopFallbackLink", "desktop")])),
            (
                "socialMetaTagInfo",
                object([("socialTitle", "title"), ("socialDescription", "description"), ("socialImageLink", "image")])
            ),
        ]
        for (name, value) in parts { if let value { info.append(.init(name, value)) } }
        var body: [JSONValue.Member] = [
            .init("name", .string(form.text("name").trimmed)), .init("dynamicLinkInfo", .object(info)),
        ]
        let suffix =
            form["suffix"].map { [JSONValue.Member("customSuffix", .string($0)), .init("option", .string("CUSTOM"))] }
            ?? [.init("option", .string("SHORT"))]
        body.append(.init("suffix", .object(suffix)))
        return .object(body)
    }
}

/// One link: what it says, how often it was opened, its QR code.
enum LinkPage {
    static let routes: [ConsoleRoute] = [
        .get("links/show", .viewer, show), .get("links/qr.svg", .viewer, picture), .post("links/show", .operator, act),
    ]

    @Sendable private static func show(_ call: ConsoleCall) async throws -> Reply {
        let short = call.visit.query.text("short")
        let link = try await link(short, call)
        let path = "/v1/\(short.urlEncoded)/linkStats?durationDays=30"
        let stats = try await call.act(.get, path)["linkEventStats"]?.elements ?? []
        var sums: [String: Int] = [:]
        for row in stats {
            sums[row["event"]?.stringValue ?? "", default: 0] += row["count"]?.integerValue ?? 0
        }
        let (state, kind) = LinkList.state(of: link, at: call.now)
        let parameters = LinkParameters(query: link.parameters)
        var facts: [Model] = []
        for parameter in LinkParameter.allCases {
            if let text = parameters[parameter] { facts.append(["name": parameter.rawValue, "text": text]) }
        }
        var model: Model = [
            "short": short, "self": "\(call.root)/links/show", "state": state, "kind": kind,
            "isBlocked": link.state == .blocked, "facts": facts, "hasStats": !stats.isEmpty,
            "qr": "\(call.root)/links/qr.svg?short=\(short.urlEncoded)",
            "stats": stats.map { row -> Model in
                [
                    "event": row["event"]?.stringValue?.lowercased().replacing("_", with: " ") ?? "",
                    "platform": row["platform"]?.stringValue?.lowercased() ?? "",
                    "count": Format.number(row["count"]?.integerValue ?? 0),
                ]
            },
            "tiles": sums.sorted { $0.key < $1.key }.map { name, count -> Model in
                [
                    "label": name.prefix(1) + name.dropFirst().lowercased().replacing("_", with: " "),
                    "value": Format.number(count),
                ]
            },
        ]
        if let tenant = call.services.linkHosts.tenant(call.project.id) {
            do throws(LinkProblem) {
                model["outcomes"] = try LinkOutcomes(parameters, url: short, of: tenant).model
            } catch {
                // The rules of now forbid what was allowed when it was made: its visitors are told the same.
                model["problem"] = error.message
            }
        }
        if call.visit.query["new"] != nil { model["notice"] = "The link is made. It works at once." }
        return .page(.link, short, menu: .links, model)
    }

    private static func link(_ short: String, _ call: ConsoleCall) async throws -> Link {
        guard let settings = call.project.links else { throw ConsoleError.notFound }
        for prefix in settings.prefixes where short.hasPrefix(prefix.url + "/") {
            let suffix = String(short.dropFirst(prefix.url.count + 1))
            if let link = try await call.store.link(LinkKey(prefix: prefix.name, suffix: suffix)),
                link.project == call.project.id, link.state != .deleted
            {
                return link
            }
        }
        throw ConsoleError.notFound
    }

    @Sendable private static func picture(_ call: ConsoleCall) async throws -> Reply {
        let short = call.visit.query.text("short")
        _ = try await link(short, call)
        return .response(.console(try QRCode(short).svg(pixels: 440), "image/svg+xml"))
    }

    @Sendable private static func act(_ call: ConsoleCall) async throws -> Reply {
        let short = call.visit.form.text("short")
        _ = try await link(short, call)
        let path = "/v1/managedShortLinks/\(short.urlEncoded)"
        switch call.visit.form.text("act") {
        case "block":
            _ = try await call.act(.patch, path, .object([.init("flaggedAttribute", .array([.string("SPAM")]))]))
        case "unblock": _ = try await call.act(.patch, path, .object([.init("flaggedAttribute", .array([]))]))
        case "delete":
            _ = try await call.act(.delete, path)
            return .redirect("\(call.root)/links")
        default: throw ConsoleError.notFound
        }
        return .redirect("\(call.root)/links/show?short=\(short.urlEncoded)")
    }
}
