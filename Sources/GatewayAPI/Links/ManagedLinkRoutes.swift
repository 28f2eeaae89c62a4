import FCMWire
import Hummingbird
import JSON
import Links
import PushModel
import Store

/// `managedShortLinks`: links with a name, that lists show. Dynamic Links only made them; the rest is ours.
enum ManagedLinkRoutes {
    /// The longest name in bytes.
    private static let nameLimit = 256

    @Sendable static func create(_ call: ProjectCall) async throws -> Response {
        let tenant = try call.linkTenant()
        let body = try await call.json()
        let request = try LinkRequest(body, of: tenant)
        guard let name = try name(body, "name") else {
            throw FCMError.badRequest("name", "name is missing: what people call the link.")
        }
        let end = try body.time("expiration_time")
        if let end, end <= call.now {
            throw FCMError.badRequest("expirationTime", "The expiration time is over.")
        }
        let link = try await call.make(request, name: name, expiresAt: end)
        let view = ManagedLinkView(link, prefix: request.prefix)
        return Response(
            json: .object(
                [.init("managedShortLink", view.json)] + ShortLinkRoutes.warnings(request.warnings)
                    + [.init("previewLink", .string(view.url + "?d=1"))]))
    }

    /// The newest first. `visibility` keeps those that are shown so, `UNARCHIVED` when it is missing.
    @Sendable static func list(_ call: ProjectCall) async throws -> Response {
        let tenant = try call.linkTenant()
        let query = call.query
        let size = try query.pageSize(default: 100, maximum: 1000)
        var filter = LinkFilter()
        if let text = query["domainUriPrefix"] {
            guard let prefix = tenant.prefix(text) else {
                throw FCMError.badRequest("domain_uri_prefix", "'\(text.excerpt)' is no link prefix of this project.")
            }
            filter.prefix = prefix.name
        }
        if let text = query["visibility"] { filter.visibilities = [try visibility(text, field: "visibility")] }
        let page = try await call.services.store.links(
            of: call.project.id, filter, after: query["pageToken"], limit: size)
        var members: [JSONValue.Member] = []
        let views = page.elements.compactMap { link in
            tenant.prefix(named: link.key.prefix).map { ManagedLinkView(link, prefix: $0).json }
        }
        if !views.isEmpty { members.append(.init("managedShortLinks", .array(views))) }
        if let next = page.nextCursor { members.append(.init("nextPageToken", .string(next))) }
        return Response(json: .object(members))
    }

    @Sendable static func get(_ call: ProjectCall) async throws -> Response {
        let (link, prefix) = try await call.namedLink()
        return Response(json: ManagedLinkView(link, prefix: prefix).json)
    }

    /// Changes what the body has: `linkName`, `visibility`, `expirationTime` (empty: none), `flaggedAttribute` (`SPAM` blocks
    /// the link, an empty list ends that), and the link itself as when it is made.
    @Sendable static func change(_ call: ProjectCall) async throws -> Response {
        let (link, prefix) = try await call.namedLink()
        let body = try await call.json()
        var change = LinkChange()
        var warnings: [LinkWarning] = []
        change.name = try name(body, "link_name")
        if let text = try body.string("visibility") { change.visibility = try visibility(text, field: "visibility") }
        if let text = try body.string("expiration_time") {
            change.expiresAt = .some(text.isEmpty ? nil : try body.time("expiration_time"))
        }
        if let flags = try body.strings("flagged_attribute") {
            change.state = try isSpam(flags) ? .blocked : .active
        }
        if LinkRequest.Content.isIn(body) {
            let content = try LinkRequest.Content(body, of: call.linkTenant())
            guard content.prefix == prefix else {
                throw FCMError.badRequest("dynamicLinkInfo.domainUriPrefix", "The prefix of a link can't be changed.")
            }
            (change.parameters, warnings) = (content.parameters.query, content.warnings)
        }
        let changed = try await call.services.store.change(
            link.key, of: call.project.id, change, audit: call.linkAudit(action(of: change, link)))
        guard let changed else { throw FCMError(.notFound) }
        return Response(
            json: .object(
                [.init("managedShortLink", ManagedLinkView(changed, prefix: prefix).json)]
                    + ShortLinkRoutes.warnings(warnings)))
    }

    @Sendable static func delete(_ call: ProjectCall) async throws -> Response {
        let (link, _) = try await call.namedLink()
        var change = LinkChange()
        change.state = .deleted
        let deleted = try await call.services.store.change(
            link.key, of: call.project.id, change, audit: call.linkAudit(.linkDeleted))
        guard deleted != nil else { throw FCMError(.notFound) }
        return Response(json: .object([]))
    }

    private static func action(of change: LinkChange, _ link: Link) -> AuditAction {
        guard let state = change.state, state != link.state else { return .linkChanged }
        return state == .blocked ? .linkBlocked : .linkUnblocked
    }

    private static func name(_ body: ObjectReader, _ field: String) throws(FCMError) -> String? {
        guard let name = try body.string(field), !name.isEmpty else { return nil }
        guard name.utf8.count <= nameLimit,
            !name.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
        else {
            throw .badRequest(
                ObjectReader.camelCase(field),
                "The name must have at most \(nameLimit) bytes and no control characters.")
        }
        return name
    }

    private static func visibility(_ text: String, field: String) throws(FCMError) -> LinkVisibility {
        guard let visibility = LinkVisibility(wire: text) else {
            throw .badRequest(field, "The visibility must be UNARCHIVED, ARCHIVED or NEVER_SHOWN.")
        }
        return visibility
    }

    private static func isSpam(_ flags: [String]) throws(FCMError) -> Bool {
        guard flags.allSatisfy({ $0 == ManagedLinkView.spam }) else {
            throw .badRequest("flaggedAttribute", "The only attribute is \(ManagedLinkView.spam).")
        }
        return !flags.isEmpty
    }
}

extension ProjectCall {
    /// The short link that the path names, and its prefix.
    ///
    /// - Throws: 400 for what is no short link of the project, 404 for one that was never made or is deleted.
    func namedLink() async throws -> (link: Link, prefix: LinkPrefix) {
        let tenant = try linkTenant()
        let name: LongLink
        do throws(LinkProblem) {
            name = try LongLink(url: try parameterText("link"), prefixes: tenant.settings.prefixes)
        } catch {
            throw FCMError.badRequest("dynamicLink", "The path names no short link of this project: \(error.message).")
        }
        guard let suffix = name.suffix, !suffix.contains("/") else {
            throw FCMError.badRequest("dynamicLink", "The path names a long link or an invitation, not a short link.")
        }
        let found = try await services.store.link(LinkKey(prefix: name.prefix.name, suffix: suffix))
        guard let found, found.project == project.id, found.state != .deleted else { throw FCMError(.notFound) }
        return (found, name.prefix)
    }

    private func parameterText(_ name: String) throws(LinkProblem) -> String {
        do throws(FCMError) {
            return try parameter(name)
        } catch {
            throw LinkProblem(field: "dynamicLink", message: "the percent-encoding is broken")
        }
    }
}
