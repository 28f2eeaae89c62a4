import FCMWire
import Hummingbird
import JSON
import Links
import PushModel
import Store

/// `managedShortLinks`: links with a name, that lists show. Dynamic Links only made them; the rest is ours.
enum ManagedLinkRoutes {
    @Sendable static func create(_ call: ProjectCall) async throws -> Response {
        let tenant = try call.linkTenant()
        let body = try await call.json()
        let request = try LinkRequest(body, of: tenant)
        guard let name = try name(body) else {
            throw FCMError.badRequest("name", "name is missing: what people call the link.")
        }
        let end = try end(body, at: call.now)
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
        if let text = query["visibility"], let visibility = try visibility(.string(text)) {
            filter.visibilities = [visibility]
        }
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

    /// Changes what the body has: `linkName`, also as `name`, `visibility`, `expirationTime` (empty: none), `flaggedAttribute`
    /// (`SPAM` blocks the link, an empty list ends that), and the link itself as when it is made, also as `info`.
    @Sendable static func change(_ call: ProjectCall) async throws -> Response {
        let (link, prefix) = try await call.namedLink()
        let body = try await call.json()
        var change = LinkChange()
        var warnings: [LinkWarning] = []
        change.name = try name(body)
        change.visibility = try body.value("visibility").flatMap(visibility)
        if body.value("expiration_time") != nil {
            change.expiresAt = .some(try end(body, at: call.now, besides: link.expiresAt))
        }
        if let isSpam = try isSpam(body) { change.state = isSpam ? .blocked : .active }
        try checkSuffix(body, of: link)
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

    /// The name: `name` in Google's request, `linkName` in its resource.
    private static func name(_ body: ObjectReader) throws(FCMError) -> String? {
        let request = try body.string("name") ?? ""
        let resource = try body.string("link_name") ?? ""
        guard request.isEmpty || resource.isEmpty || request == resource else {
            throw .badRequest("linkName", "linkName and name are the same field; give one of them.")
        }
        let (field, name) = resource.isEmpty ? ("name", request) : ("linkName", resource)
        guard !name.isEmpty else { return nil }
        if let problem = LinkName.problem(name) { throw .badRequest(field, "\(field) \(problem).") }
        return name
    }

    /// The end, which is to come, or is `current`: a resource may be sent back as it was read. An empty text is none.
    private static func end(
        _ body: ObjectReader, at now: Timestamp, besides current: Timestamp? = nil
    ) throws(FCMError) -> Timestamp? {
        guard try body.string("expiration_time")?.isEmpty == false, let end = try body.time("expiration_time") else {
            return nil
        }
        guard end > now || end == current else {
            throw .badRequest("expirationTime", "expirationTime \(end.rfc3339) is not in the future.")
        }
        return end
    }

    /// A visibility by its name or number; `nil`: the unspecified one.
    private static func visibility(_ value: JSONValue) throws(FCMError) -> LinkVisibility? {
        let (word, number) = (value.stringValue, value.int32Value)
        if number == 0 || word == "" || word == "UNSPECIFIED_VISIBILITY" { return nil }
        guard
            let visibility = word.flatMap(LinkVisibility.init(wire:))
                ?? number.flatMap({ LinkVisibility(rawValue: Int($0)) })
        else {
            let text = word ?? String(decoding: value.bytes, as: UTF8.self)
            throw .badRequest(
                "visibility", "visibility must be UNARCHIVED, ARCHIVED or NEVER_SHOWN, not '\(text.excerpt)'.")
        }
        return visibility
    }

    /// Whether a link is to be blocked; `nil`: the body does not say.
    private static func isSpam(_ body: ObjectReader) throws(FCMError) -> Bool? {
        guard let value = body.value("flagged_attribute") else { return nil }
        guard case .array(let flags) = value,
            flags.allSatisfy({ $0 == .string(ManagedLinkView.spam) || $0.int32Value == 1 })
        else { throw .badRequest("flaggedAttribute", "flaggedAttribute must be a list of nothing but SPAM, or empty.") }
        return !flags.isEmpty
    }

    private static func checkSuffix(_ body: ObjectReader, of link: Link) throws(FCMError) {
        let suffix = try body.object("suffix", type: "TYPE_MESSAGE")?.string("custom_suffix") ?? ""
        guard suffix.isEmpty || suffix == link.key.suffix else {
            throw .badRequest("suffix.customSuffix", "The suffix of a link can't be changed.")
        }
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
            throw FCMError.badRequest(
                "dynamicLink",
                "The path has to name a short link of this project, as https://go.example.com/aB3x: what it names \(error.message)."
            )
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
