import Foundation

/// The rules of a simulator as a file (`rules.json`) and its control endpoint show them.
///
/// ```json
/// {
///   "default": {"delayMilliseconds": 20},
///   "devices": {
///     "00fc13ad": {"reject": {"status": 400, "reason": "BadDeviceToken"}},
///     "11fc13ad": {"unregistered": {"since": 1767225600000}}
///   },
///   "channels": {
///     "dHN0LXNyY2gtY2hubA==": {"reject": {"status": 503, "reason": "ServiceUnavailable"}, "times": 2}
///   },
///   "management": {"neverAnswer": true}
/// }
/// ```
///
/// The rules themselves are described at ``Rule``. All keys are optional.
package struct RuleSet: Sendable, Codable, Hashable {
    /// The rule of all device tokens and channels that have none.
    package var `default`: Rule?
    /// Rules by device token, hex in lower case.
    package var devices: [String: Rule]
    /// Rules for broadcasts, by the channel's id.
    package var channels: [String: Rule]
    /// The rule of all requests to the management host of channels. One that is answered with a rejection does nothing;
    /// one that is never answered is done all the same.
    package var management: Rule?

    /// Puts rules together.
    package init(
        default: Rule? = nil, devices: [String: Rule] = [:], channels: [String: Rule] = [:], management: Rule? = nil
    ) {
        self.default = `default`
        self.devices = devices
        self.channels = channels
        self.management = management
    }

    private enum CodingKeys: String, CodingKey, CaseIterable {
        case `default`, devices, channels, management
    }

    /// Reads the JSON shape above.
    package init(from decoder: any Decoder) throws {
        try decoder.refuseKeys(except: CodingKeys.allCases)
        let values = try decoder.container(keyedBy: CodingKeys.self)
        self.default = try values.decodeIfPresent(Rule.self, forKey: .default)
        management = try values.decodeIfPresent(Rule.self, forKey: .management)
        channels = try values.decodeIfPresent([String: Rule].self, forKey: .channels) ?? [:]
        devices = [:]
        guard values.contains(.devices) else { return }
        let rules = try values.nestedContainer(keyedBy: AnyCodingKey.self, forKey: .devices)
        for key in rules.allKeys {
            guard Self.isDeviceToken(key.stringValue) else { throw rules.wrong(key, "is not a device token in hex") }
            devices[key.stringValue.lowercased()] = try rules.decode(Rule.self, forKey: key)
        }
    }

    /// Writes the JSON shape above; of what is only about channels nothing while there is none.
    package func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: CodingKeys.self)
        try values.encodeIfPresent(self.default, forKey: .default)
        try values.encode(devices, forKey: .devices)
        if !channels.isEmpty { try values.encode(channels, forKey: .channels) }
        try values.encodeIfPresent(management, forKey: .management)
    }

    /// Reads `rules.json`.
    ///
    /// - Returns: `nil` when there is no such file.
    /// - Throws: ``SimulatorError`` that names the file and the key.
    init?(file: String) throws {
        guard let value = try RuleSet.decoded(file: file) else { return nil }
        self = value
    }

    /// Whether `text` is hex of whole bytes.
    static func isDeviceToken(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.count.isMultiple(of: 2) && text.utf8.allSatisfy { hexadecimalValue($0) != nil }
    }
}

extension DecodingError {
    /// The key and its problem, in one line.
    var problem: String {
        switch self {
        case .keyNotFound(let key, let context):
            "\(Self.path(context.codingPath + [key])): is missing"
        case .typeMismatch(let type, let context):
            "\(Self.path(context.codingPath)): must be \(Self.name(of: type))"
        case .valueNotFound(let type, let context):
            "\(Self.path(context.codingPath)): must be \(Self.name(of: type)), not null"
        case .dataCorrupted(let context) where context.codingPath.isEmpty:
            "is not JSON"
        case .dataCorrupted(let context):
            "\(Self.path(context.codingPath)): \(context.debugDescription)"
        @unknown default:
            "is not in the right shape"
        }
    }

    private static func path(_ keys: [any CodingKey]) -> String {
        keys.isEmpty ? "the document" : keys.map(\.stringValue).joined(separator: ".")
    }

    private static func name(of type: any Any.Type) -> String {
        switch type {
        case is Int.Type, is Int64.Type: "a whole number"
        case is Double.Type: "a number"
        case is String.Type: "a string"
        case is Bool.Type: "true or false"
        default: "\(type)".hasPrefix("Array") ? "an array" : "an object"
        }
    }
}
