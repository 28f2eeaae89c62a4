import Links
import PushModel
import Store

extension ProjectCall {
    /// Makes a link, or finds the one that was made from the same.
    ///
    /// - Parameters:
    ///   - name: of a managed link: each is another; `nil`: the same link is found again.
    ///   - expiresAt: the end of a managed link.
    /// - Throws: 409 for a suffix that another link has.
    func make(_ request: LinkRequest, name: String? = nil, expiresAt: Timestamp? = nil) async throws -> Link {
        let kind = request.option.kind
        let isManaged = name != nil
        let link = NewLink(
            project: project.id, prefix: request.prefix.name, suffixes: try await suffixes(for: request), kind: kind,
            parameters: request.parameters.query, digest: isManaged ? nil : request.parameters.digest(), name: name,
            visibility: isManaged ? .unarchived : .neverShown, createdAt: now, expiresAt: expiresAt)
        switch try await services.store.create(link, audit: isManaged ? linkAudit(.linkCreated) : nil) {
        case .created(let link), .existing(let link): return link
        case .taken where kind == .custom:
            throw FCMError(
                .alreadyExists, "The suffix '\(request.customSuffix ?? "")' is taken in \(request.prefix.url).")
        case .taken: throw FCMError(.unavailable)
        }
    }

    /// What the audit log keeps of something that was done to a link; the store fills in which.
    func linkAudit(_ action: AuditAction) -> AuditEntry {
        AuditEntry(time: now, project: project.id, action: action, subject: "", credential: credential)
    }

    /// The suffixes that are tried, in order.
    ///
    /// - Throws: 400 for one that the caller may not choose.
    private func suffixes(for request: LinkRequest) async throws -> [String] {
        var random = SystemRandomNumberGenerator()
        let taken = services.linkHosts.takenPaths(below: request.prefix, of: project.id)
        switch request.option {
        case .unspecified, .unguessable:
            // One in a billion billion is taken.
            return (0..<2).map { _ in LinkSuffix.unguessable(besides: taken, using: &random) }
        case .short:
            let length = try await shortLength(in: request.prefix)
            // Each is free with a probability of 999 in 1000.
            return [0, 0, 0, 1, 1, 2].map { LinkSuffix.short(length: length + $0, besides: taken, using: &random) }
        case .custom:
            guard let suffix = request.customSuffix else {
                throw FCMError.badRequest("suffix.customSuffix", "The option CUSTOM needs suffix.customSuffix.")
            }
            if let problem = LinkSuffix.customProblem(suffix) ?? taken.problem(of: suffix) {
                throw FCMError.badRequest("suffix.customSuffix", "suffix.customSuffix \(problem).")
            }
            return [suffix]
        }
    }

    /// The length of the next short suffix: the least one of which fewer than a thousandth are given, so that guessing finds
    /// little.
    private func shortLength(in prefix: LinkPrefix) async throws -> Int {
        var (length, room) = (4, 62 * 62 * 62 * 62)
        while length < 10 {
            let count = try await services.store.linkCount(of: prefix.name, .short, suffixLength: length)
            if count < room / 1000 { break }
            (length, room) = (length + 1, room * 62)
        }
        return length
    }
}
