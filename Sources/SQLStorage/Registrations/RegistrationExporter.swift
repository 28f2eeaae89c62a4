import PushModel
import Store

/// Reads registrations with their topics within one snapshot.
struct RegistrationExporter {
    let db: any Database
    let project: ProjectID

    static let rows = RegistrationReader.active
    static let topics = """
        SELECT t.name, s.created_at FROM subscription s INDEXED BY subscription_by_registration
        CROSS JOIN topic t ON t.id = s.topic WHERE s.registration = ? ORDER BY s.topic
        """
    static let count = """
        SELECT count(*) FROM registration INDEXED BY registration_by_app
        WHERE app = ?1 AND ended_at IS NULL AND channel < 4 AND key > ?2
        """

    func page(after key: Int64, limit: Int) throws -> (
        rows: [ImportedRegistration], last: RegistrationKey, isLast: Bool
    ) {
        let reader = RegistrationReader(db: db, project: project)
        let found = try reader.active(after: key, limit: limit)
        let rows = try found.map { registration in
            var row = ImportedRegistration(registration)
            let topics = try db.cursor(Self.topics, [registration.key.rawValue])
            while let topic = try topics.next() {
                let since = Timestamp(milliseconds: topic[1])
                row.topics.append(
                    ImportedTopic(
                        try Topic(stored: topic[0]), createdAt: since == registration.createdAt ? nil : since))
            }
            return row
        }
        return (rows, found.last?.key ?? RegistrationKey(rawValue: key), found.count < limit)
    }
}

extension ImportedRegistration {
    fileprivate init(_ registration: Registration) {
        self.init(app: registration.app, address: registration.address)
        id = registration.id
        token = registration.token
        user = registration.user
        appVersion = registration.appVersion
        createdAt = registration.createdAt
        refreshedAt = registration.refreshedAt
        provenAt = registration.provenAt
        quarantine = registration.quarantine
    }
}
