package import PushModel

/// A certificate that the gateway uses.
package struct CertificateStatus: Hashable, Sendable {
    /// What it is for: `listener`, or the bundle id of the app that pushes with it.
    package var subject: String
    /// The file, with the line of the project file that names it where there is one.
    package var file: String
    /// Until when it is valid.
    package var validUntil: Timestamp

    /// Describes a certificate.
    package init(subject: String, file: String, validUntil: Timestamp) {
        self.subject = subject
        self.file = file
        self.validUntil = validUntil
    }
}
