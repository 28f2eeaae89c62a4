import FCMWire
import JSON
import Links
import PushModel
import Store

/// The body that a link is made from: `CreateShortDynamicLinkRequest`, and of a managed link what it has beside.
struct LinkRequest: Sendable {
    /// How the suffix is chosen, by the number on the wire.
    enum SuffixOption: String, CaseIterable, Sendable {
        case unspecified = "OPTION_UNSPECIFIED"
        case unguessable = "UNGUESSABLE"
        case short = "SHORT"
        case custom = "CUSTOM"

        /// The kind of the link.
        var kind: LinkKind {
            switch self {
            case .unspecified, .unguessable: .unguessable
            case .short: .short
            case .custom: .custom
            }
        }
    }

    /// The prefix of the project that the link gets.
    let prefix: LinkPrefix
    /// What the link says.
    let parameters: LinkParameters
    /// What is odd about it.
    let warnings: [LinkWarning]
    /// How its suffix is chosen.
    let option: SuffixOption
    /// The suffix that the caller chose.
    let customSuffix: String?

    /// Reads a body: names in camelCase or snake_case, enums as names or numbers, unknown fields passed over.
    ///
    /// - Throws: 400 for a link that is refused.
    init(_ body: ObjectReader, of tenant: LinkTenant) throws(FCMError) {
        let content = try Content(body, of: tenant)
        (prefix, parameters, warnings) = (content.prefix, content.parameters, content.warnings)
        let suffix = try body.object("suffix", type: "TYPE_MESSAGE")
        let given = try suffix?.choice("option", of: SuffixOption.self, type: Self.optionType) ?? .unspecified
        customSuffix = try suffix?.string("custom_suffix").flatMap { $0.isEmpty ? nil : $0 }
        guard customSuffix == nil || given == .unspecified || given == .custom else {
            throw .badRequest(
                "suffix.customSuffix", "suffix.customSuffix needs the suffix.option CUSTOM, not \(given.rawValue).")
        }
        option = customSuffix == nil ? given : .custom
    }

    private static let optionType = "type.googleapis.com/google.firebase.dynamiclinks.v1.Suffix.SuffixOption"

    /// The link in a body: a long one, or its parameters.
    struct Content: Sendable {
        let prefix: LinkPrefix
        let parameters: LinkParameters
        let warnings: [LinkWarning]

        /// Whether a body has one.
        static func isIn(_ body: ObjectReader) -> Bool {
            ["long_dynamic_link", "dynamic_link_info", "info"].contains { body.value($0) != nil }
        }

        /// Reads the link: exactly one of the two forms.
        init(_ body: ObjectReader, of tenant: LinkTenant) throws(FCMError) {
            let long = try body.string("long_dynamic_link").flatMap { $0.isEmpty ? nil : $0 }
            switch (long, try Self.info(body)) {
            case (let long?, nil): try self.init(long: long, of: tenant)
            case (nil, let info?): try self.init(info: info, of: tenant)
            case (nil, nil):
                throw .badRequest("longDynamicLink", "One of longDynamicLink and dynamicLinkInfo is required.")
            case (.some, .some):
                throw .badRequest("longDynamicLink", "Only one of longDynamicLink and dynamicLinkInfo may be there.")
            }
        }

        /// The parameters: `dynamicLinkInfo` in requests, `info` in the resource. A resource that is sent back may have both
        /// when they say the same.
        private static func info(_ body: ObjectReader) throws(FCMError) -> ObjectReader? {
            let names = ["dynamic_link_info", "info"].filter { body.value($0) != nil }
            guard let name = names.first else { return nil }
            guard names.allSatisfy({ body.value($0) == body.value(name) }) else {
                throw .badRequest(
                    "dynamicLinkInfo",
                    "dynamicLinkInfo and info are the same field, which is info in the resource; give one of them.")
            }
            return try body.object(name, type: "TYPE_MESSAGE")
        }

        private init(long: String, of tenant: LinkTenant) throws(FCMError) {
            do throws(LinkProblem) {
                let link = try LongLink(url: long, prefixes: tenant.settings.prefixes)
                warnings = try tenant.check.check(link)
                (prefix, parameters) = (link.prefix, link.parameters)
            } catch {
                throw FCMError(error)
            }
        }

        private init(info: ObjectReader, of tenant: LinkTenant) throws(FCMError) {
            let isOld: Bool
            (prefix, isOld) = try Self.prefix(info, of: tenant)
            parameters = try DynamicLinkInfo.parameters(info)
            do throws(LinkProblem) {
                warnings = try tenant.check.check(parameters) + (isOld ? [Self.oldDomain] : [])
            } catch {
                throw FCMError(error)
            }
        }

        private static let oldDomain = LinkWarning(
            .deprecatedParameter, "'dynamicLinkDomain' is deprecated: domainUriPrefix takes its place")

        /// The prefix that is named, and whether by the deprecated field.
        private static func prefix(
            _ info: ObjectReader, of tenant: LinkTenant
        ) throws(FCMError) -> (prefix: LinkPrefix, isOld: Bool) {
            let given = try info.string("domain_uri_prefix").flatMap { $0.isEmpty ? nil : $0 }
            let domain = try info.string("dynamic_link_domain").flatMap { $0.isEmpty ? nil : $0 }
            let field = "dynamicLinkInfo." + (given == nil ? "dynamicLinkDomain" : "domainUriPrefix")
            switch (given, domain) {
            case (let text?, nil), (nil, let text?):
                // The older field has a host alone.
                let url = given == nil ? "https://" + text : text
                guard let prefix = tenant.prefix(url) else {
                    throw .badRequest(field, "'\(text.excerpt)' is no link prefix of this project.")
                }
                return (prefix, given == nil)
            case (nil, nil):
                throw .badRequest(
                    "dynamicLinkInfo.domainUriPrefix", "One of domainUriPrefix and dynamicLinkDomain is required.")
            case (.some, .some):
                throw .badRequest(
                    "dynamicLinkInfo.domainUriPrefix", "Only one of domainUriPrefix and dynamicLinkDomain may be there."
                )
            }
        }
    }
}
