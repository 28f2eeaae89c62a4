/// What the simulator does with pushes to one device token, or to all.
///
/// As JSON an object with at most one of `reject`, `unregistered` and `neverAnswer` (none: accept), and optionally
/// `delayMilliseconds` and `times`:
///
/// ```json
/// {"reject": {"status": 429, "reason": "TooManyRequests"}, "times": 3}
/// {"unregistered": {"since": 1767225600000}}
/// {"neverAnswer": true}
/// {"delayMilliseconds": 250}
/// ```
package struct Rule: Sendable, Codable, Hashable {
    /// What to answer.
    package enum Action: Sendable, Hashable {
        /// 200.
        case accept
        /// A status and a reason of Apple's.
        case reject(status: Int, reason: String)
        /// 410 Unregistered with this timestamp, milliseconds since 1970.
        case unregistered(since: Int64)
        /// No answer at all.
        case neverAnswer
    }

    /// The longest delay.
    static let longestDelayMilliseconds = 3_600_000

    /// What to answer.
    package var action: Action
    /// Milliseconds before the answer.
    package var delayMilliseconds: Int
    /// How many pushes the rule holds for; `nil`: all.
    package var times: Int?

    /// Puts a rule together.
    package init(_ action: Action, delayMilliseconds: Int = 0, times: Int? = nil) {
        self.action = action
        self.delayMilliseconds = delayMilliseconds
        self.times = times
    }

    private enum CodingKeys: String, CodingKey, CaseIterable {
        case reject, unregistered, neverAnswer, delayMilliseconds, times
    }

    private struct Rejection: Codable {
        enum CodingKeys: String, CodingKey, CaseIterable {
            case status, reason
        }

        var status: Int
        var reason: String
    }

    private struct Unregistration: Codable {
        enum CodingKeys: String, CodingKey, CaseIterable {
            case since
        }

        var since: Int64
    }

    /// Reads the JSON shape above; every other key and every value out of range is refused.
    package init(from decoder: any Decoder) throws {
        try decoder.refuseKeys(except: CodingKeys.allCases)
        let values = try decoder.container(keyedBy: CodingKeys.self)
        action = try Self.action(in: values)
        delayMilliseconds = try values.decodeIfPresent(Int.self, forKey: .delayMilliseconds) ?? 0
        times = try values.decodeIfPresent(Int.self, forKey: .times)
        guard (0...Self.longestDelayMilliseconds).contains(delayMilliseconds) else {
            throw values.wrong(.delayMilliseconds, "must be 0 to \(Self.longestDelayMilliseconds)")
        }
        guard times.map({ $0 > 0 }) ?? true else { throw values.wrong(.times, "must be at least 1") }
    }

    private static func action(in values: KeyedDecodingContainer<CodingKeys>) throws -> Action {
        let actions: [CodingKeys] = [.reject, .unregistered, .neverAnswer].filter { values.contains($0) }
        guard let key = actions.first else { return .accept }
        guard actions.count == 1 else {
            throw values.wrong(actions[1], "cannot stand beside '\(key.rawValue)'")
        }
        switch key {
        case .reject:
            try values.superDecoder(forKey: .reject).refuseKeys(except: Rejection.CodingKeys.allCases)
            let rejection = try values.decode(Rejection.self, forKey: .reject)
            guard (400...599).contains(rejection.status) else {
                throw values.wrong(.reject, "status must be 400 to 599")
            }
            return .reject(status: rejection.status, reason: rejection.reason)
        case .unregistered:
            try values.superDecoder(forKey: .unregistered).refuseKeys(except: Unregistration.CodingKeys.allCases)
            return .unregistered(since: try values.decode(Unregistration.self, forKey: .unregistered).since)
        case .neverAnswer, .delayMilliseconds, .times:
            return try values.decode(Bool.self, forKey: .neverAnswer) ? .neverAnswer : .accept
        }
    }

    /// Writes the JSON shape above.
    package func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: CodingKeys.self)
        switch action {
        case .accept: break
        case .reject(let status, let reason):
            try values.encode(Rejection(status: status, reason: reason), forKey: .reject)
        case .unregistered(let since): try values.encode(Unregistration(since: since), forKey: .unregistered)
        case .neverAnswer: try values.encode(true, forKey: .neverAnswer)
        }
        if delayMilliseconds != 0 { try values.encode(delayMilliseconds, forKey: .delayMilliseconds) }
        try values.encodeIfPresent(times, forKey: .times)
    }
}

extension KeyedDecodingContainer {
    /// An error that names `key`.
    func wrong(_ key: Key, _ problem: String) -> DecodingError {
        .dataCorruptedError(forKey: key, in: self, debugDescription: problem)
    }
}

extension Decoder {
    /// Throws for the first key of the object that is none of `known`: a misspelt key must not be passed over.
    func refuseKeys(except known: [some CodingKey]) throws {
        let values = try container(keyedBy: AnyCodingKey.self)
        let names = known.map(\.stringValue)
        if let stranger = values.allKeys.map(\.stringValue).filter({ !names.contains($0) }).sorted().first {
            throw values.wrong(
                AnyCodingKey(stringValue: stranger), "unknown key; known are \(names.joined(separator: ", "))")
        }
    }
}

/// A key of any name.
struct AnyCodingKey: CodingKey {
    var stringValue: String
    var intValue: Int? { nil }

    init(stringValue: String) {
        self.stringValue = stringValue
    }

    init?(intValue: Int) {
        nil
    }
}
