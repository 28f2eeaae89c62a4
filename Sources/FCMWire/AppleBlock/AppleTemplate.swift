package import JSON
package import PushModel

/// What a message says, in FCM's terms, on its way through the table in ``APNSMapping``.
///
/// The v1 API fills it from `notification`, `data` and `apns`; the legacy API has more to fill in.
package struct AppleTemplate: Sendable {
    /// Values by source, as the sender wrote them.
    package var values = SourceValues()
    /// Headers that the sender set by name.
    package var headers = APNSHeaders()

    /// An empty template.
    package init() {}

    /// The template of a v1 message.
    package init(_ content: FCMMessage) {
        self.init(content.notification, content.data, content.apns)
    }

    init(
        _ notification: FCMMessage.NotificationTemplate?, _ data: [FCMMessage.DataEntry], _ apns: FCMMessage.APNSConfig
    ) {
        values[.title] = notification?.title.map { .string($0) }
        values[.body] = notification?.body.map { .string($0) }
        values[.image] = (apns.image ?? notification?.image).map { .string($0) }
        if !data.isEmpty { values[.data] = .object(data.map { JSONValue.Member($0.key, .string($0.value)) }) }
        values[.payload] = apns.payload
        headers = apns.headers
    }

    /// Sends every value to its places.
    ///
    /// - Throws: ``InvalidMessage`` with a violation for each value that fits its place in no spelling, in the order of
    ///   the table.
    package func composed(keys: FirebaseKeys) throws(InvalidMessage) -> AppleComposition {
        var composition = AppleComposition(headers: headers)
        let violations = fill(&composition, keys: keys)
        guard violations.isEmpty else { throw InvalidMessage(violations) }
        return composition
    }

    /// Sends every value to its places and tells which do not fit. The values of a v1 message always fit: they were
    /// checked when it was decoded.
    func fill(_ composition: inout AppleComposition, keys: FirebaseKeys) -> [FieldViolation] {
        var violations: [FieldViolation] = []
        for row in APNSMapping.rows where keys.includes(row.since) {
            guard let value = values[row.source], value != .null else { continue }
            for (index, place) in row.places.enumerated() {
                // The first place gets what the source says, the others that it is there.
                let value = index == 0 ? value.converted(from: row.source) : .number("1")
                guard let value else { continue }
                violations += composition.put(value, at: place, from: row.source)
            }
        }
        return violations
    }
}

/// Values by source: a handful, which is faster looked through than hashed.
package struct SourceValues: Sendable, ExpressibleByDictionaryLiteral {
    private var entries: [(source: FCMSource, value: JSONValue)] = []

    /// No values.
    package init() {}

    package init(dictionaryLiteral elements: (FCMSource, JSONValue)...) {
        for (source, value) in elements { self[source] = value }
    }

    /// The value of a source; `nil`: it has none.
    package subscript(source: FCMSource) -> JSONValue? {
        get { entries.first { $0.source == source }?.value }
        set {
            let place = entries.firstIndex { $0.source == source }
            switch (place, newValue) {
            case (let place?, let value?): entries[place].value = value
            case (let place?, nil): entries.remove(at: place)
            case (nil, let value?): entries.append((source, value))
            case (nil, nil): return
            }
        }
    }
}

/// The parts of an APNs request while it is put together.
package struct AppleComposition: Sendable {
    /// Headers that were set.
    package private(set) var headers: APNSHeaders
    // Later members of a name win; names are made unique when the parts are read, so that many cost no more each.
    private var alert: [JSONValue.Member] = []
    private var apsMembers: [JSONValue.Member] = []
    private var customMembers: [JSONValue.Member] = []
    private var options: [JSONValue.Member] = []

    init(headers: APNSHeaders) {
        self.headers = headers
    }

    /// The members of `aps`.
    package var aps: [JSONValue.Member] {
        let alertMember = alert.isEmpty ? [] : [JSONValue.Member("alert", .object(alert.keepingLastOfDuplicates()))]
        return (alertMember + apsMembers).keepingLastOfDuplicates()
    }

    /// The members beside `aps`.
    package var custom: [JSONValue.Member] {
        let optionsMember =
            options.isEmpty ? [] : [JSONValue.Member("fcm_options", .object(options.keepingLastOfDuplicates()))]
        return (customMembers + optionsMember).keepingLastOfDuplicates()
    }

    fileprivate mutating func put(
        _ value: JSONValue, at place: APNSMapping.Place, from source: FCMSource
    ) -> [FieldViolation] {
        switch place {
        case .alert(let key):
            alert.append(JSONValue.Member(key, value))
            return APSKind.alertKeys[key]?.violations(in: value, at: source.rawValue) ?? []
        case .aps(let key):
            apsMembers.append(JSONValue.Member(key, value))
            return APSKind.apsKeys[key]?.violations(in: value, at: source.rawValue) ?? []
        case .custom(let key): customMembers.append(JSONValue.Member(key, value))
        case .options(let key): options.append(JSONValue.Member(key, value))
        case .header(let name):
            let problem = headers.set(name, to: value.stringValue ?? String(decoding: value.bytes, as: UTF8.self))
            return problem.map { [FieldViolation(field: source.rawValue, description: $0)] } ?? []
        case .eachBesideAps: customMembers += value.members
        case .overAll: putOver(value)
        }
        return []
    }

    private mutating func putOver(_ payload: JSONValue) {
        for member in payload.members {
            switch (member.name, member.value) {
            case ("aps", let aps):
                // `null` counts as absent and replaces nothing.
                apsMembers += aps.members.filter { $0.value != .null }.map(\.withNumericFlags)
            // Beside the image of `fcm_options.image`, which it may replace.
            case ("fcm_options", .object(let members)): options += members
            case ("fcm_options", _):
                options = []
                customMembers.append(member)
            default: customMembers.append(member)
            }
        }
    }
}

extension JSONValue {
    fileprivate var members: [Member] {
        guard case .object(let members) = self else { return [] }
        return members
    }

    /// The value in the spelling of its place, where FCM's differs; `nil`: nothing goes there.
    fileprivate func converted(from source: FCMSource) -> JSONValue? {
        switch (source, self) {
        case (.priority, .string(let text)):
            let numbers = ["normal": "5", "high": "10"]
            return .string(numbers[text.lowercased()] ?? text)
        case (.timeToLive, _): return seconds == 0 ? .string("0") : nil
        case (.badge, .string(let digits)): return Int64(digits).map { .number(String($0)) } ?? self
        case (.contentAvailable, .bool(false)), (.mutableContent, .bool(false)): return nil
        case (.contentAvailable, .bool(true)), (.mutableContent, .bool(true)): return .number("1")
        case (.titleLocArgs, .string(let text)), (.subtitleLocArgs, .string(let text)),
            (.bodyLocArgs, .string(let text)):
            // Documented as the text of a JSON list; a text that is none is reported at its place.
            guard let list = try? JSONValue(parsing: text.utf8) else { return self }
            return list
        default: return self
        }
    }

    private var seconds: Int64? {
        switch self {
        case .number(let text), .string(let text): Int64(text)
        case .null, .bool, .array, .object: nil
        }
    }
}

extension JSONValue.Member {
    /// The member of `aps` with Apple's flags as numbers.
    fileprivate var withNumericFlags: JSONValue.Member {
        JSONValue.Member(name, APSKind.apsKeys[name]?.withNumericFlags(value) ?? value)
    }
}
