/// What crawlers read: Open Graph, Twitter cards and App Links.
package struct SocialPage: Hashable, Sendable {
    /// An app in App Links' words.
    package struct AppLink: Hashable, Sendable {
        let url: String?
        let id: String
        let name: String?

        /// - Parameters:
        ///   - url: what opens the app, `al:ios:url` or `al:android:url`; `nil` for none.
        ///   - id: the App Store's number, or the package.
        ///   - name: what people call the app.
        package init(url: String?, id: String, name: String? = nil) {
            self.url = url
            self.id = id
            self.name = name
        }
    }

    let title: String
    let description: String?
    let imageURL: String?
    let card: String
    let siteName: String?
    let url: String
    let href: String?
    let ios: AppLink?
    let android: AppLink?
    let webURL: String?

    /// - Parameters:
    ///   - url: the link itself, `og:url`.
    ///   - title: `st`; the link when there is none.
    ///   - description: `sd`.
    ///   - imageURL: `si`; left out unless it is an http or https URL.
    ///   - siteName: whose link it is, such as the app's name.
    ///   - ios: `al:ios:*`.
    ///   - android: `al:android:*`.
    ///   - webURL: where browsers end up, `al:web:url`.
    package init(
        url: String, title: String? = nil, description: String? = nil, imageURL: String? = nil, siteName: String? = nil,
        ios: AppLink? = nil, android: AppLink? = nil, webURL: String? = nil
    ) {
        self.url = url
        href = PageURL.isWeb(url) ? url : nil
        self.title = title ?? url
        self.description = description
        self.imageURL = imageURL.flatMap { PageURL.isWeb($0) ? $0 : nil }
        card = self.imageURL == nil ? "summary" : "summary_large_image"
        self.siteName = siteName
        self.ios = ios
        self.android = android
        self.webURL = webURL.flatMap { PageURL.isWeb($0) ? $0 : nil }
    }
}
