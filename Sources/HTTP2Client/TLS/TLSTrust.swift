/// The certificate authorities to trust.
package enum TLSTrust: Sendable, Hashable {
    /// The system's certificate authorities.
    case system
    /// The certificate authorities of this PEM file, and no others.
    case file(String)
}
