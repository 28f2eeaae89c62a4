/// How long the parts of links may be.
package enum LinkLimits {
    /// Longer parameters are warned of, in bytes: browsers and stores cut URLs off there.
    package static let parameterBytes = 2_083
    /// Longer long links are not opened, in bytes, so that each that is opens from the preview page too. A short link whose
    /// long form is longer is warned of: it opens as the short link alone.
    package static let longLinkBytes = 8_192
    /// The most that pages add to a link in bytes: the host of the preview page, the short link, `efr`, and marks.
    static let markBytes = 2_048
    /// Longer URLs are no targets, in bytes.
    package static let targetBytes = 8_192
    /// Links with a longer canonical query are refused, in bytes.
    package static let queryBytes = 16_384
    /// As many names that no parameter has are told of.
    package static let unknownNames = 20
}
