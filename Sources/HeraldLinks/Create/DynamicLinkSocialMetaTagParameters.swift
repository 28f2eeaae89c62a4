public import Foundation

/// What social apps show of a link, and the preview page of iOS.
public final class DynamicLinkSocialMetaTagParameters {
    /// The title.
    public var title: String?
    /// The text below it.
    public var descriptionText: String?
    /// An image of at least 300 × 200 pixels and less than 300 KB.
    public var imageURL: URL?

    /// Makes empty parameters.
    public init() {}

    func add(to query: inout LinkQuery) {
        query.add(.socialTitle, title)
        query.add(.socialDescription, descriptionText)
        query.add(.socialImage, imageURL?.absoluteString)
    }
}
