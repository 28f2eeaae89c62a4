extension Scenario.Name {
    /// Whether every simulated service can play it. The others are about what APNs alone has.
    package var isOfAllServices: Bool {
        switch self {
        case .none, .goAwayShutdown, .goAwayPartial, .drop, .reset, .halfOpen, .slow, .tooManyRequests,
            .unavailableBurst, .badDeviceShare, .unregisteredShare, .settingsFlap:
            true
        case .streamRamp, .collapseAfterReject, .tokenUpdates, .expiredWedge, .unrelatedKey, .flowControlStall,
            .bigHeaders:
            false
        }
    }
}

extension ScenarioSet {
    /// The same set, for another service than APNs.
    ///
    /// - Throws: ``SimulatorError`` that names a scenario of APNs alone.
    package func ofAllServices() throws(SimulatorError) -> ScenarioSet {
        for scenario in scenarios where !scenario.name.isOfAllServices {
            let names = Scenario.Name.allCases.filter(\.isOfAllServices).map(\.rawValue).joined(separator: ", ")
            throw SimulatorError("\(scenario.name.rawValue) is a scenario of APNs alone; here there are \(names)")
        }
        return self
    }
}
