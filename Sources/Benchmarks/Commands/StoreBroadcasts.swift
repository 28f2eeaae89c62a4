/// Broadcasts of gateways on PostgreSQL, beside those of one on SQLite, or those of several beside those of one.
struct StoreBroadcasts {
    let setup: GatewayBench.Setup
    let options: GatewayOptions
    let rounds: Int
    let devices: Int

    /// All rounds: medians, and the medians of the pairs' ratios.
    struct Summary: Encodable {
        let name: String
        let otherName: String
        /// To device tokens that were never accepted before.
        let first: Broadcast
        let otherFirst: Broadcast
        let gateway: Broadcast
        let other: Broadcast
        let rateRatio: Double
        /// Of the processor time of gateways alone.
        let costRatio: Double
        /// Of that of gateways and database together.
        let wholeCostRatio: Double
    }

    /// Measures and shows the rows.
    func measure(_ table: ResultTable) async throws -> Summary {
        var reference = setup
        (reference.store, reference.nodes) = (setup.nodes > 1 ? .postgresql : .sqlite, 1)
        let other = try await GatewayBench(reference, options)
        let bench = try await GatewayBench(setup, options)
        let (name, otherName) = (Self.name(setup), Self.name(reference))
        let otherFirst = try await other.prove(devices).first
        table.add(otherFirst.cells("\(devices) first, \(otherName)"))
        let first = try await bench.prove(devices).first
        table.add(first.cells("\(devices) first, \(name)"))
        var pairs: [(gateway: Broadcast, other: Broadcast)] = []
        for round in 0..<rounds {
            // Who goes first takes turns.
            if round.isMultiple(of: 2) {
                let broadcast = try await bench.broadcast(to: devices)
                pairs.append((broadcast, try await other.broadcast(to: devices)))
            } else {
                let broadcast = try await other.broadcast(to: devices)
                pairs.append((try await bench.broadcast(to: devices), broadcast))
            }
        }
        let summary = Summary(
            name: name, otherName: otherName, first: first, otherFirst: otherFirst,
            gateway: Broadcast.median(of: pairs.map(\.gateway)), other: Broadcast.median(of: pairs.map(\.other)),
            rateRatio: pairs.map { $0.gateway.pushesPerSecond / $0.other.pushesPerSecond }.median,
            costRatio: pairs.map { $0.gateway.microsecondsPerPush / $0.other.microsecondsPerPush }.median,
            wholeCostRatio: pairs.map { $0.gateway.wholeMicrosecondsPerPush / $0.other.wholeMicrosecondsPerPush }.median
        )
        show(summary, table)
        return summary
    }

    private static func name(_ setup: GatewayBench.Setup) -> String {
        setup.nodes > 1 ? "\(setup.store.name), \(setup.nodes) nodes" : setup.store.name
    }

    private func show(_ summary: Summary, _ table: ResultTable) {
        table.add(summary.gateway.cells("\(devices) \(summary.name)"))
        table.add(summary.other.cells("\(devices) \(summary.otherName)"))
        table.add(["  ratio", figure(summary.rateRatio, 3), "", "", figure(summary.costRatio, 2), "", ""])
        let (database, other) = (
            summary.gateway.databaseMicrosecondsPerPush, summary.other.databaseMicrosecondsPerPush
        )
        table.note(
            "µs of the database for each push: \(figure(database, 2)), of the other one's \(figure(other, 2)); "
                + "ratio of gateways and database together \(figure(summary.wholeCostRatio, 2)); "
                + "\(summary.gateway.repeats) repeats")
    }
}

extension Broadcast {
    /// Of the gateways and of the database server.
    var wholeMicrosecondsPerPush: Double { microsecondsPerPush + databaseMicrosecondsPerPush }
}
