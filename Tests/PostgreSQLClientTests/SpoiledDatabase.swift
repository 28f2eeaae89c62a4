import TestSupport

@testable import PostgreSQLClient

/// A database behind a proxy.
struct SpoiledDatabase: Sendable {
    let database: TestDatabase
    let proxy: WireProxy
    /// By the proxy.
    var configuration: PostgreSQLConfiguration

    init(_ plan: @escaping @Sendable (Int) -> WireProxy.Plan) async throws {
        database = try await TestDatabase()
        proxy = try WireProxy(to: database.server, plan: plan)
        configuration = try PostgreSQLConfiguration(
            url: database.server.url(database.url, at: proxy.host, port: proxy.port))
    }
}
