import COpenSSL

/// What a push certificate says of itself: Apple's client certificate for APNs.
package struct ClientCertificate: Hashable, Sendable {
    /// Where Apple's certificates may be used.
    package enum Environment: Hashable, Sendable {
        /// The development service.
        case sandbox
        /// The production service.
        case production
    }

    /// The subject's UID: the bundle id.
    package let userID: String?
    /// The subject's common name, such as `Apple Push Services: com.example.app`.
    package let commonName: String?
    /// Since when it is valid, in seconds since 1970.
    package let notBefore: Int64
    /// Until when it is valid, in seconds since 1970.
    package let notAfter: Int64
    /// What it may push to, bundle ids and those with a suffix: the extension 1.2.840.113635.100.6.3.6, or in an older
    /// certificate without it the subject's UID. Empty: it is no push certificate.
    package let topics: [String]
    /// The environments that it names (extensions 1.2.840.113635.100.6.3.1 and .2); empty: it names none.
    package let environments: Set<Environment>
    /// The SHA-256 digest of the certificate, 64 lower-case hexadecimal digits.
    package let fingerprint: String

    init(_ certificate: Certificate) throws(SigningError) {
        userID = certificate.subjectEntry(NID_userId)
        commonName = certificate.subjectEntry(NID_commonName)
        notBefore = try certificate.notBefore()
        notAfter = try certificate.notAfter()
        fingerprint = try certificate.fingerprint()
        if let list = certificate.extensionValue(Self.topicsExtension) {
            do {
                topics = try Self.topics(in: list)
            } catch {
                throw SigningError(
                    .notACertificate, "The certificate's list of topics (\(Self.topicsExtension)) is garbled.")
            }
        } else {
            topics = userID.map { [$0] } ?? []
        }
        var environments: Set<Environment> = []
        if certificate.extensionValue(Self.sandboxExtension) != nil { environments.insert(.sandbox) }
        if certificate.extensionValue(Self.productionExtension) != nil { environments.insert(.production) }
        self.environments = environments
    }

    private static let sandboxExtension = "1.2.840.113635.100.6.3.1"
    private static let productionExtension = "1.2.840.113635.100.6.3.2"
    private static let topicsExtension = "1.2.840.113635.100.6.3.6"

    /// The longest list that is read, in bytes, and the most topics in it: Apple's have three or four.
    static let topicListLimitBytes = 16_384
    static let topicLimit = 64

    /// Reads `SEQUENCE { topic UTF8String, SEQUENCE { kind UTF8String, … }, … }`.
    static func topics(in list: [UInt8]) throws(DERReader.Malformed) -> [String] {
        guard list.count <= topicListLimitBytes else { throw DERReader.Malformed() }
        var outer = DERReader(list[...])
        guard let sequence = try outer.next(), sequence.tag == DERReader.sequence, try outer.next() == nil else {
            throw DERReader.Malformed()
        }
        var reader = DERReader(sequence.content)
        var topics: [String] = []
        while let element = try reader.next() {
            switch element.tag {
            case DERReader.utf8String:
                guard topics.count < topicLimit, (1...255).contains(element.content.count),
                    let topic = String(validating: element.content, as: UTF8.self)
                else { throw DERReader.Malformed() }
                topics.append(topic)
            case DERReader.sequence: break
            default: throw DERReader.Malformed()
            }
        }
        return topics
    }
}
