import Foundation
import GatewayAPI
import JSON
import PushModel
import Store

/// Reads registrations from records, and says line, column and reason of what is wrong.
struct RegistrationDecoder: Sendable {
    /// A column's value before it is understood.
    enum Field {
        case text(String)
        case list([String])
        case other
    }

    private let format: RegistrationFormat
    private let apps: [AppID: PushEnvironment]
    private let webApps: [AppID: App]
    private let androidApps: Set<AppID>
    private let header: [RegistrationColumn]

    /// - Parameters:
    ///   - apps: the Apple apps of the project, with the environment of registrations that do not say.
    ///   - webApps: its web apps.
    ///   - androidApps: its Android apps.
    ///   - header: the first record of a CSV file.
    init(
        _ format: RegistrationFormat, apps: [AppID: PushEnvironment], webApps: [AppID: App] = [:],
        androidApps: Set<AppID> = [], header: RegistrationRecord?
    ) throws(LineProblem) {
        self.format = format
        self.apps = apps
        self.webApps = webApps
        self.androidApps = androidApps
        self.header = try header.map { record throws(LineProblem) in try Self.columns(record) } ?? []
    }

    /// Reads one registration.
    func registration(_ record: RegistrationRecord) throws(LineProblem) -> ImportedRegistration {
        let fields =
            switch format {
            case .ndjson: try Self.object(record)
            case .csv: try row(record)
            }
        return try registration(fields)
    }

    private func registration(
        _ fields: [RegistrationColumn: Field]
    ) throws(LineProblem) -> ImportedRegistration {
        guard let app = try Self.text(fields, .app) else { throw Self.problem(.app, "missing") }
        var row = try addressed(fields, app: app)
        row.id = try Self.identifier(fields, .fid, "must be 22 base64url characters that begin with c, d, e or f")
        if row.id?.isOfChannel == true { throw Self.problem(.fid, "stands for a broadcast channel, not for an app") }
        row.token = try Self.identifier(fields, .token, "is no registration token")
        if let named = row.id, let token = row.token {
            let front = String(token.rawValue.prefix { $0 != ":" })
            if front != named.rawValue, RegistrationID(rawValue: front) != nil {
                throw Self.problem(.token, "begins with another installation id than fid")
            }
        }
        row.user = try Self.identifier(fields, .user, "must be \(UserID.expectation)")
        row.appVersion = try Self.text(fields, .appVersion)
        if let version = row.appVersion, version.utf8.count > 255 {
            throw Self.problem(.appVersion, "must not be longer than 255 bytes")
        }
        row.topics = try Self.topics(fields)
        row.createdAt = try Self.time(fields, .createdAt)
        row.refreshedAt = try Self.time(fields, .refreshedAt)
        row.provenAt = try Self.time(fields, .provenAt)
        row.quarantine = try Self.quarantine(fields)
        return row
    }

    /// App and address: a row has a device token, a token of Google's, or an endpoint with its keys.
    private func addressed(
        _ fields: [RegistrationColumn: Field], app: String
    ) throws(LineProblem) -> ImportedRegistration {
        let ofBrowsers: [RegistrationColumn] = [.endpoint, .p256dh, .auth, .applicationKey]
        let isWeb = ofBrowsers.contains { fields[$0] != nil }
        let id = AppID(rawValue: app)
        if isWeb {
            guard let id, let found = webApps[id] else {
                throw Self.problem(.app, "\"\(Self.excerpt(app))\" is no web app of the project")
            }
            for column in [RegistrationColumn.deviceToken, .fcmToken] where fields[column] != nil {
                throw Self.problem(column, "can't stand beside endpoint")
            }
            return ImportedRegistration(app: id, address: .web(try subscription(fields, of: found)))
        }
        if fields[.fcmToken] != nil || fields[.relayed] != nil {
            guard let id, androidApps.contains(id) else {
                throw Self.problem(.app, "\"\(Self.excerpt(app))\" is no Android app of the project")
            }
            return ImportedRegistration(app: id, address: try androidAddress(fields))
        }
        guard let id, let usual = apps[id] else {
            throw Self.problem(.app, "\"\(Self.excerpt(app))\" is no app of the project")
        }
        guard let hex = try Self.text(fields, .deviceToken) else { throw Self.problem(.deviceToken, "missing") }
        guard let deviceToken = DeviceToken(registering: hex) else {
            var problem = Self.problem(.deviceToken, "must be \(DeviceToken.registeringExpectation)")
            // Hex digits, but no device token: the file is one of registrations, and its other lines are not in doubt.
            problem.isOfRegistration = DeviceToken(hex: hex) != nil
            throw problem
        }
        return ImportedRegistration(
            app: id, address: .apple(deviceToken, try Self.environment(fields) ?? usual))
    }

    private static func environment(_ fields: [RegistrationColumn: Field]) throws(LineProblem) -> PushEnvironment? {
        switch try text(fields, .environment)?.lowercased() {
        case nil: return nil
        case "production", "prod": return .production
        case "sandbox": return .sandbox
        case .some: throw problem(.environment, "must be production or sandbox")
        }
    }

    private static func quarantine(_ fields: [RegistrationColumn: Field]) throws(LineProblem) -> Quarantine? {
        let reason = try text(fields, .quarantineReason)
        guard let time = try time(fields, .quarantinedAt) else {
            guard reason == nil else { throw problem(.quarantinedAt, "missing beside quarantine_reason") }
            return nil
        }
        guard let reason, reason.utf8.count <= 100 else {
            throw problem(.quarantineReason, "missing beside quarantined_at, or longer than 100 bytes")
        }
        return Quarantine(time: time, reason: Reason(rawValue: reason))
    }

    private static func topics(_ fields: [RegistrationColumn: Field]) throws(LineProblem) -> [ImportedTopic] {
        let names: [String]
        switch fields[.topics] {
        case nil: return []
        case .text(let text): names = text.split(separator: " ").map(String.init)
        case .list(let list): names = list
        case .other: throw problem(.topics, "must be a list of texts")
        }
        var topics: [ImportedTopic] = []
        for name in names {
            let parts = name.split(separator: "@", maxSplits: 1, omittingEmptySubsequences: false)
            guard let topic = Topic(rawValue: String(parts[0])) else {
                throw problem(.topics, "\"\(excerpt(name))\" is no topic; use 1 to 900 of A-Z a-z 0-9 - _ . ~ %")
            }
            var since: Timestamp?
            if parts.count == 2 {
                guard let time = Timestamp(rfc3339: String(parts[1])) else {
                    throw problem(.topics, "\"\(excerpt(name))\" has no RFC 3339 time after the @")
                }
                since = time
            }
            topics.append(ImportedTopic(topic, createdAt: since))
        }
        guard topics.count <= Topic.limitPerRegistration else { throw ImportRefusal.tooManyTopics.problem }
        return topics
    }

    private static func identifier<ID: TextIdentifier>(
        _ fields: [RegistrationColumn: Field], _ column: RegistrationColumn, _ expectation: String
    ) throws(LineProblem) -> ID? {
        guard let text = try text(fields, column) else { return nil }
        guard let id = ID(rawValue: text) else { throw problem(column, expectation) }
        return id
    }

    private static func time(
        _ fields: [RegistrationColumn: Field], _ column: RegistrationColumn
    ) throws(LineProblem) -> Timestamp? {
        guard let text = try text(fields, column) else { return nil }
        guard let time = Timestamp(rfc3339: text) else {
            throw problem(column, "\"\(excerpt(text))\" is not an RFC 3339 time such as 2026-01-31T12:00:00Z")
        }
        return time
    }

    static func text(
        _ fields: [RegistrationColumn: Field], _ column: RegistrationColumn
    ) throws(LineProblem) -> String? {
        switch fields[column] {
        case nil: return nil
        case .text(let text): return text.isEmpty ? nil : text
        case .list, .other: throw problem(column, "must be a text")
        }
    }

    static func problem(_ column: RegistrationColumn, _ reason: String) -> LineProblem {
        LineProblem(column: column.rawValue, reason: reason)
    }

    /// Enough of a wrong text to find it again.
    private static func excerpt(_ text: String) -> String {
        String(
            text.unicodeScalars.map { $0.properties.generalCategory == .control ? " " : $0 }.reduce(into: "") {
                if $0.count < 40 { $0.unicodeScalars.append($1) }
            })
    }

    private static func column(_ name: String) throws(LineProblem) -> RegistrationColumn {
        guard let column = RegistrationColumn(rawValue: name) else {
            let known = RegistrationColumn.allCases.map(\.rawValue)
            let hint = Spelling.closest(to: name, among: known).map { "; did you mean \($0)?" } ?? ""
            throw LineProblem(column: excerpt(name), reason: "there is no such column\(hint)")
        }
        return column
    }
}

extension RegistrationDecoder {
    private static func object(_ record: RegistrationRecord) throws(LineProblem) -> [RegistrationColumn: Field] {
        let value: JSONValue
        do {
            value = try JSONValue(parsing: record.bytes)
        } catch {
            throw LineProblem(reason: "no JSON: \(error.message) at byte \(error.offset + 1)")
        }
        guard case .object(let members) = value else { throw LineProblem(reason: "must be a JSON object") }
        var fields: [RegistrationColumn: Field] = [:]
        for member in members {
            let column = try column(member.name)
            switch member.value {
            case .null: break
            case .string(let text): fields[column] = .text(text)
            case .array(let elements):
                let texts = elements.compactMap(\.stringValue)
                fields[column] = texts.count == elements.count ? .list(texts) : .other
            case .bool, .number, .object: fields[column] = .other
            }
        }
        return fields
    }

    private static func columns(_ record: RegistrationRecord) throws(LineProblem) -> [RegistrationColumn] {
        var bytes = record.bytes
        if bytes.starts(with: [0xef, 0xbb, 0xbf]) { bytes = bytes.dropFirst(3) }
        var columns: [RegistrationColumn] = []
        for name in try CSVFields(bytes).fields {
            let column = try column(name)
            guard !columns.contains(column) else { throw LineProblem(column: name, reason: "stands twice") }
            columns.append(column)
        }
        return columns
    }

    private func row(_ record: RegistrationRecord) throws(LineProblem) -> [RegistrationColumn: Field] {
        let values = try CSVFields(record.bytes).fields
        guard values.count == header.count else {
            throw LineProblem(reason: "has \(values.count) fields, the header has \(header.count)")
        }
        var fields: [RegistrationColumn: Field] = [:]
        for (column, value) in zip(header, values) where !value.isEmpty {
            fields[column] = .text(CSVCell.original(value))
        }
        return fields
    }
}

/// The fields of one record of RFC 4180.
struct CSVFields {
    /// The fields, without their quotes.
    let fields: [String]

    /// Reads a record without its line end.
    init(_ bytes: ArraySlice<UInt8>) throws(LineProblem) {
        var fields: [String] = []
        var position = bytes.startIndex
        while true {
            let text: [UInt8]
            if position < bytes.endIndex, bytes[position] == 0x22 {
                text = try Self.quoted(bytes, &position)
            } else {
                let end = bytes[position...].firstIndex(of: 0x2c) ?? bytes.endIndex
                text = Array(bytes[position..<end])
                guard !text.contains(0x22) else {
                    throw LineProblem(reason: "a quote inside a field that does not begin with one")
                }
                position = end
            }
            guard let field = String(validating: text, as: UTF8.self) else { throw LineProblem(reason: "is not UTF-8") }
            fields.append(field)
            guard position < bytes.endIndex else { break }
            guard bytes[position] == 0x2c else { throw LineProblem(reason: "text behind a field in quotes") }
            position += 1
        }
        self.fields = fields
    }

    private static func quoted(_ bytes: ArraySlice<UInt8>, _ position: inout Int) throws(LineProblem) -> [UInt8] {
        var text: [UInt8] = []
        position += 1
        while position < bytes.endIndex {
            let byte = bytes[position]
            position += 1
            if byte != 0x22 {
                text.append(byte)
            } else if position < bytes.endIndex, bytes[position] == 0x22 {
                text.append(byte)
                position += 1
            } else {
                return text
            }
        }
        throw LineProblem(reason: "a quote that is not closed")
    }
}

/// Writes registrations as they are read.
struct RegistrationEncoder {
    let format: RegistrationFormat

    /// What stands before the rows.
    var header: String {
        switch format {
        case .ndjson: ""
        case .csv: RegistrationColumn.allCases.map(\.rawValue).joined(separator: ",") + "\r\n"
        }
    }

    /// Appends a row with its line end.
    func append(_ row: ImportedRegistration, to bytes: inout [UInt8]) {
        switch format {
        case .ndjson:
            let members = RegistrationColumn.allCases.compactMap { column -> JSONValue.Member? in
                if column == .topics {
                    let topics = row.topics.map { JSONValue.string($0.text) }
                    return topics.isEmpty ? nil : JSONValue.Member(column.rawValue, .array(topics))
                }
                return column.text(of: row).map { JSONValue.Member(column.rawValue, .string($0)) }
            }
            bytes.append(contentsOf: JSONValue.object(members).bytes)
            bytes.append(0x0a)
        case .csv:
            for (index, column) in RegistrationColumn.allCases.enumerated() {
                if index > 0 { bytes.append(0x2c) }
                bytes.append(contentsOf: Self.cell(column.text(of: row) ?? "").utf8)
            }
            bytes.append(contentsOf: [0x0d, 0x0a])
        }
    }

    // No field but the app's version can hold a line end, and there it has no meaning: a record stays one line.
    private static func cell(_ text: String) -> String {
        let hasLineEnd = text.utf8.contains { $0 == 0x0a || $0 == 0x0d }
        let line =
            hasLineEnd
            ? text.replacing("\r", with: " ").replacing("\n", with: " ").replacing("\r\n", with: " ") : text
        return CSVCell.quoted(CSVCell.inert(line))
    }
}

extension RegistrationColumn {
    fileprivate func text(of row: ImportedRegistration) -> String? {
        switch self {
        case .fid: row.id?.rawValue
        case .token: row.token?.rawValue
        case .deviceToken: row.address.deviceToken?.hex
        case .fcmToken: row.address.androidToken?.rawValue
        case .relayed: row.address.isRelayed ? "true" : nil
        case .endpoint: row.address.webSubscription?.endpoint
        case .p256dh: row.address.webSubscription.map { Base64URL.text($0.key) }
        case .auth: row.address.webSubscription.map { Base64URL.text($0.secret) }
        case .applicationKey: row.address.webSubscription?.applicationKey.map { Base64URL.text($0) }
        case .app: row.app.rawValue
        case .environment: row.address.channel.environment?.rawValue
        case .user: row.user?.rawValue
        case .appVersion: row.appVersion
        case .topics: row.topics.isEmpty ? nil : row.topics.map(\.text).joined(separator: " ")
        case .createdAt: row.createdAt?.rfc3339
        case .refreshedAt: row.refreshedAt?.rfc3339
        case .provenAt: row.provenAt?.rfc3339
        case .quarantinedAt: row.quarantine?.time.rfc3339
        case .quarantineReason: row.quarantine?.reason.rawValue
        }
    }
}

extension ImportedTopic {
    /// The name, with its time when that is not the registration's.
    fileprivate var text: String { topic.rawValue + (createdAt.map { "@\($0.rfc3339)" } ?? "") }
}
