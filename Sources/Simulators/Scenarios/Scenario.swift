/// One kind of trouble with APNs, with how often connections play it and its parameters.
///
/// As JSON an object with `name`, optionally `weight`, and the parameters of that scenario, all of them numbers:
///
/// ```json
/// {"name": "slow", "weight": 2, "medianMilliseconds": 100}
/// ```
///
/// As text, for a command line: `slow=2,medianMilliseconds=100`.
package struct Scenario: Sendable, Hashable, Codable {
    /// Which one.
    package var name: Name
    /// How often it is drawn for a connection, in proportion to the others' weights; 0: never.
    package var weight: Double
    /// The parameters that were given.
    private(set) var parameters: [ScenarioParameter: Double] = [:]

    /// The greatest weight.
    static let greatestWeight = 1_000_000.0

    /// A scenario with the usual parameters.
    package init(_ name: Name, weight: Double = 1) {
        self.name = name
        self.weight = weight
    }

    /// The scenario with a parameter set; for those who know its name and range.
    ///
    /// - Throws: ``SimulatorError`` that names the parameter.
    package func setting(_ parameter: String, to value: Double) throws -> Scenario {
        var scenario = self
        try scenario.set(parameter, to: value)
        return scenario
    }

    /// Reads `NAME[=WEIGHT][,PARAMETER=VALUE…]`.
    ///
    /// - Throws: ``SimulatorError`` with the mistake.
    package init(text: String) throws {
        let parts = text.split(separator: ",", omittingEmptySubsequences: false)
        let head = parts[0].split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard let name = Name(rawValue: String(head[0])) else {
            throw SimulatorError("there is no scenario '\(head[0])'; there are \(Self.names)")
        }
        self.init(name)
        if head.count > 1 {
            guard let weight = Double(head[1]), (0...Self.greatestWeight).contains(weight) else {
                throw SimulatorError("\(name.rawValue): the weight '\(head[1])' is not a number, 0 or greater")
            }
            self.weight = weight
        }
        for part in parts.dropFirst() {
            let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard pair.count == 2, let value = Double(pair[1]) else {
                throw SimulatorError("\(name.rawValue): '\(part)' is not PARAMETER=NUMBER")
            }
            try set(String(pair[0]), to: value)
        }
    }

    private mutating func set(_ key: String, to value: Double) throws {
        guard let parameter = ScenarioParameter(rawValue: key), accepts(parameter) else {
            throw SimulatorError("\(name.rawValue): there is no parameter '\(key)'; \(knownParameters)")
        }
        if let problem = parameter.problem(with: value) {
            throw SimulatorError("\(name.rawValue): \(key) \(problem)")
        }
        parameters[parameter] = value
    }

    private static var names: String { Name.allCases.map(\.rawValue).joined(separator: ", ") }

    private var knownParameters: String {
        name.defaults.isEmpty
            ? "it takes none" : "known are " + name.defaults.map(\.0.rawValue).joined(separator: ", ")
    }

    private func accepts(_ parameter: ScenarioParameter) -> Bool {
        name.defaults.contains { $0.0 == parameter }
    }

    /// The value of a parameter that this scenario takes; 0 for any other.
    subscript(parameter: ScenarioParameter) -> Double {
        parameters[parameter] ?? name.defaults.first { $0.0 == parameter }?.1 ?? 0
    }

    /// The same as a whole number.
    func whole(_ parameter: ScenarioParameter) -> Int {
        Int(self[parameter])
    }

    /// Reads the JSON shape above; every other key and every value out of range is refused.
    package init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: AnyCodingKey.self)
        let nameKey = AnyCodingKey(stringValue: "name")
        let weightKey = AnyCodingKey(stringValue: "weight")
        guard let name = Name(rawValue: try values.decode(String.self, forKey: nameKey)) else {
            throw values.wrong(nameKey, "is no scenario; there are \(Self.names)")
        }
        self.init(name, weight: try values.decodeIfPresent(Double.self, forKey: weightKey) ?? 1)
        guard (0...Self.greatestWeight).contains(weight) else {
            throw values.wrong(weightKey, "must be 0 to \(Int(Self.greatestWeight))")
        }
        for key in values.allKeys.sorted(by: { $0.stringValue < $1.stringValue })
        where !["name", "weight"].contains(key.stringValue) {
            guard let parameter = ScenarioParameter(rawValue: key.stringValue), accepts(parameter) else {
                throw values.wrong(key, "unknown key; \(knownParameters)")
            }
            let value = try values.decode(Double.self, forKey: key)
            if let problem = parameter.problem(with: value) { throw values.wrong(key, problem) }
            parameters[parameter] = value
        }
    }

    /// Writes the JSON shape above.
    package func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: AnyCodingKey.self)
        try values.encode(name, forKey: AnyCodingKey(stringValue: "name"))
        try values.encode(weight, forKey: AnyCodingKey(stringValue: "weight"))
        for (parameter, value) in parameters {
            try values.encode(value, forKey: AnyCodingKey(stringValue: parameter.rawValue))
        }
    }
}
