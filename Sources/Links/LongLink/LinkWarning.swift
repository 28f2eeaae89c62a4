/// Something odd about a link that works nevertheless.
package struct LinkWarning: Hashable, Sendable {
    /// The kinds of warnings, by their names on the wire (firebasedynamiclinks.v1.json, `DynamicLinkWarning`).
    ///
    /// Three of them never occur: no parameter is a social URL (``socialURLNotURI``, ``socialURLScheme``), and this API is
    /// not deprecated (``apiDeprecated``).
    package enum Code: String, Hashable, Sendable, CaseIterable {
        case unspecified = "CODE_UNSPECIFIED"
        case unrecognizedParameter = "UNRECOGNIZED_PARAM"
        case deprecatedParameter = "DEPRECATED_PARAM"
        case tooLongParameter = "TOO_LONG_PARAM"
        case linkTooLong = "LINK_LENGTH_TOO_LONG"
        case linkWithFragments = "LINK_WITH_FRAGMENTS"
        case apiDeprecated = "API_DEPRECATED"
        case badDebugParameter = "BAD_DEBUG_PARAM"
        case badAdParameter = "BAD_AD_PARAM"

        case androidPackageNotInProject = "NOT_IN_PROJECT_ANDROID_PACKAGE_NAME"
        case androidMinimumVersionNotInteger = "NOT_INTEGER_ANDROID_PACKAGE_MIN_VERSION"
        case androidMinimumVersionUnnecessary = "UNNECESSARY_ANDROID_PACKAGE_MIN_VERSION"
        case androidLinkNotURI = "NOT_URI_ANDROID_LINK"
        case androidLinkUnnecessary = "UNNECESSARY_ANDROID_LINK"
        case androidFallbackNotURI = "NOT_URI_ANDROID_FALLBACK_LINK"
        case androidFallbackScheme = "BAD_URI_SCHEME_ANDROID_FALLBACK_LINK"

        case iosBundleNotInProject = "NOT_IN_PROJECT_IOS_BUNDLE_ID"
        case ipadBundleNotInProject = "NOT_IN_PROJECT_IPAD_BUNDLE_ID"
        case iosSchemeUnnecessary = "UNNECESSARY_IOS_URL_SCHEME"
        case appStoreIDNotNumeric = "NOT_NUMERIC_IOS_APP_STORE_ID"
        case appStoreIDUnnecessary = "UNNECESSARY_IOS_APP_STORE_ID"
        case appStoreIDNotMatching = "NOT_MATCHING_IOS_BUNDLE_ID_AND_STORE_ID"
        case iosFallbackNotURI = "NOT_URI_IOS_FALLBACK_LINK"
        case iosFallbackScheme = "BAD_URI_SCHEME_IOS_FALLBACK_LINK"
        case ipadFallbackNotURI = "NOT_URI_IPAD_FALLBACK_LINK"
        case ipadFallbackScheme = "BAD_URI_SCHEME_IPAD_FALLBACK_LINK"

        case socialImageNotURI = "NOT_URI_SOCIAL_IMAGE_LINK"
        case socialImageScheme = "BAD_URI_SCHEME_SOCIAL_IMAGE_LINK"
        case socialURLNotURI = "NOT_URI_SOCIAL_URL"
        case socialURLScheme = "BAD_URI_SCHEME_SOCIAL_URL"
    }

    /// The kind.
    package let code: Code
    /// A sentence for the maker of the link. It may quote what the caller sent.
    package let message: String

    /// Describes a warning.
    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }
}
