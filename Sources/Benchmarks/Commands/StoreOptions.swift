import ArgumentParser

/// Which store the gateway of a benchmark has.
struct StoreOptions: ParsableArguments {
    @Option(
        help: """
            sqlite, or postgresql: a server of the benchmark's own on the sender's cores, with every commit synced. Then \
            the gateway is compared with one on SQLite.
            """)
    var store = StoreKind.sqlite
}

/// A store that a gateway may have.
enum StoreKind: String, CaseIterable, ExpressibleByArgument {
    case sqlite, postgresql

    /// As people write it.
    var name: String { self == .sqlite ? "SQLite" : "PostgreSQL" }
}
