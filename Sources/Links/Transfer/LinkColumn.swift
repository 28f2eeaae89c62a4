/// A column of a file of links.
package enum LinkColumn: Hashable, Sendable {
    case shortLink
    case parameter(LinkParameter)
    case isArchived
    case name
    case createdAt

    /// The columns of Google's export in their order.
    package static let google: [LinkColumn] =
        [.shortLink]
        + [
            .link, .androidPackage, .androidFallback, .androidMinimumVersion, .iosBundle, .iosFallback, .iosScheme,
            .ipadFallback, .ipadBundle, .appStoreID, .iosMinimumVersion, .forcedRedirect, .otherFallback, .socialTitle,
            .socialDescription, .socialImage, .utmSource, .utmMedium, .utmCampaign, .utmTerm, .utmContent,
            .affiliateToken, .campaignToken, .mediaType, .providerToken,
        ].map(LinkColumn.parameter) + [.isArchived, .name, .createdAt]

    /// Those and the parameters that Google's export leaves out.
    package static let all: [LinkColumn] =
        google + LinkParameter.allCases.map(LinkColumn.parameter).filter { !google.contains($0) }

    /// What the header calls it.
    package var title: String {
        switch self {
        case .shortLink: "Short link"
        case .parameter(let parameter): parameter.rawValue
        case .isArchived: "archived?"
        case .name: "link name"
        case .createdAt: "creation timestamp"
        }
    }

    /// Where its text is taken among those of a row.
    var rank: Int {
        switch self {
        case .parameter(let parameter): parameter.rank
        case .shortLink, .isArchived, .name, .createdAt: -1
        }
    }

    /// The column of a header's field, whatever its case; also with `_` for a space and without the `?`.
    package init?(title: String) {
        let name = Self.normal(title)
        guard let column = Self.all.first(where: { Self.normal($0.title) == name }) else { return nil }
        self = column
    }

    private static func normal(_ title: String) -> String {
        String(title.lowercased().map { $0 == "_" ? " " : $0 }.filter { $0 != "?" }).split(separator: " ")
            .joined(separator: " ").replacing("utm ", with: "utm_")
    }
}
