import Hummingbird
import JSON
import Links
import Store

/// `shortLinks`: links that apps and backends make, the same one for the same request.
enum ShortLinkRoutes {
    @Sendable static func create(_ call: ProjectCall) async throws -> Response {
        let tenant = try call.linkTenant()
        try call.checkNewLink()
        let request = try LinkRequest(await call.json(), of: tenant)
        guard request.option != .custom else {
            throw FCMError.badRequest("suffix.option", "Only managed links have suffixes that the caller chooses.")
        }
        let link = try await call.make(request)
        let url = link.url(of: request.prefix)
        return Response(
            json: .object(
                [.init("shortLink", .string(url))] + warnings(request.warnings)
                    + [.init("previewLink", .string(url + "?d=1"))]))
    }

    /// The member for warnings; none where there are none.
    static func warnings(_ warnings: [LinkWarning], as name: String = "warning") -> [JSONValue.Member] {
        guard !warnings.isEmpty else { return [] }
        let list = warnings.map { warning in
            JSONValue.object([
                .init("warningCode", .string(warning.code.rawValue)),
                .init("warningMessage", .string(warning.message)),
            ])
        }
        return [.init(name, .array(list))]
    }
}
