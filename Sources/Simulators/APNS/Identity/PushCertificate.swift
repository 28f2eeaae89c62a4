import SwiftASN1
import X509

/// What a client's certificate says about push: the topics of Apple's extension 1.2.840.113635.100.6.3.6, or without it
/// the UID of the subject.
struct PushCertificate: Sendable, Hashable {
    /// Bundle ids, and those with a suffix. Empty: it is no push certificate.
    var topics: [String]

    private static let userID: ASN1ObjectIdentifier = [0, 9, 2342, 19_200_300, 100, 1, 1]
    private static let topicList: ASN1ObjectIdentifier = [1, 2, 840, 113_635, 100, 6, 3, 6]
    private static let environments: [ASN1ObjectIdentifier] = [
        [1, 2, 840, 113_635, 100, 6, 3, 1], [1, 2, 840, 113_635, 100, 6, 3, 2],
    ]

    /// A certificate with these topics.
    init(topics: [String]) {
        self.topics = topics
    }

    /// Reads a certificate that TLS verified; one that can't be read for its topics has none.
    init(derBytes: [UInt8]) {
        do {
            let certificate = try Certificate(derEncoded: derBytes)
            if let list = certificate.extensions[oid: Self.topicList] {
                topics = try Self.topics(in: list.value)
            } else {
                topics = certificate.subject.flatMap { $0 }.filter { $0.type == Self.userID }
                    .compactMap { String($0.value) }
            }
        } catch {
            topics = []
        }
    }

    /// The topics of `SEQUENCE { topic UTF8String, SEQUENCE { kind UTF8String, … }, … }`.
    private static func topics(in list: ArraySlice<UInt8>) throws -> [String] {
        try DER.sequence(try DER.parse(list), identifier: .sequence) { nodes in
            var topics: [String] = []
            while let node = nodes.next() {
                if node.identifier == .utf8String { topics.append(String(try ASN1UTF8String(derEncoded: node))) }
            }
            return topics
        }
    }

    /// The subject that Apple gives a certificate for the first of `topics`.
    static func subject(topics: [String]) throws -> DistinguishedName {
        guard let app = topics.first else { return try DistinguishedName { CommonName("no push certificate") } }
        return DistinguishedName([
            RelativeDistinguishedName(.init(type: userID, utf8String: app)),
            RelativeDistinguishedName(
                .init(type: .RDNAttributeType.commonName, utf8String: "Apple Push Services: " + app)),
        ])
    }

    /// The extensions that Apple adds: the environments and the topics.
    static func extensions(topics: [String]) throws -> [Certificate.Extension] {
        guard !topics.isEmpty else { return [] }
        var serializer = DER.Serializer()
        try serializer.appendConstructedNode(identifier: .sequence) { list in
            for topic in topics {
                try list.serialize(ASN1UTF8String(topic))
                try list.appendConstructedNode(identifier: .sequence) { try $0.serialize(ASN1UTF8String("app")) }
            }
        }
        let null: ArraySlice<UInt8> = [5, 0]
        return environments.map { Certificate.Extension(oid: $0, critical: false, value: null) }
            + [Certificate.Extension(oid: topicList, critical: false, value: serializer.serializedBytes[...])]
    }
}
