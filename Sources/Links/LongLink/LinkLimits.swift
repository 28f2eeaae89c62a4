/// How long the parts of links may be.
package enum LinkLimits {
    /// Longer parameters are warned of, in bytes: browsers and stores cut URLs off there.
    package static let parameterBytes = 2_083
    /// Longer long links are warned of, in bytes: no request line would hold them.
    package static let longLinkBytes = 8_192
    /// Longer URLs are no targets, in bytes.
    package static let targetBytes = 8_192
    /// Links with a longer canonical query are refused, in bytes.
    package static let queryBytes = 16_384
    /// As many names that no parameter has are told of.
    package static let unknownNames = 20
}
