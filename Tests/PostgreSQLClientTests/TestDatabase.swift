import Logging
import TestSupport
import Testing

@testable import PostgreSQLClient

/// A database of one test on the server that all share.
struct TestDatabase: Sendable {
    let server: PostgreSQLServer
    let url: String
    let configuration: PostgreSQLConfiguration

    /// Makes one.
    ///
    /// - Parameter server: the one that all share when `nil`.
    init(on server: PostgreSQLServer? = nil) async throws {
        if let server {
            self.server = server
        } else {
            self.server = try await .shared()
        }
        url = try await self.server.makeDatabase()
        configuration = try PostgreSQLConfiguration(url: url)
    }

    /// Runs `body` with a session on a thread of its own.
    func withSession<Value: Sendable>(
        _ body: @escaping @Sendable (PostgreSQLSession) throws -> Value
    ) async throws -> Value {
        try await withSession(configuration, body)
    }

    /// As ``withSession(_:)``, with other settings.
    func withSession<Value: Sendable>(
        _ configuration: PostgreSQLConfiguration, _ body: @escaping @Sendable (PostgreSQLSession) throws -> Value
    ) async throws -> Value {
        try await onThread {
            let session = PostgreSQLSession(configuration, logger: Logger(label: "test"))
            defer { session.close() }
            try session.connect()
            return try body(session)
        }
    }
}

extension PostgreSQLSession {
    /// The numbers in the first column.
    func numbers(_ text: String, _ arguments: [Int64] = []) throws -> [Int64] {
        let statement = try statement(text)
        for argument in arguments { statement.bind(argument) }
        var numbers: [Int64] = []
        while try statement.next() { numbers.append(statement.number(0)) }
        return numbers
    }

    /// Posts a statement with numbers.
    func post(_ text: String, _ arguments: [Int64] = []) throws {
        let statement = try statement(text)
        for argument in arguments { statement.bind(argument) }
        try statement.post()
    }
}

/// The lock of transactions in tests.
let testLock: Int64 = 7

/// Runs what has to fail with an error of the client, and gives the error.
func failure<Value>(_ body: () throws -> Value) -> PostgreSQLError? {
    do {
        _ = try body()
        return nil
    } catch {
        return error as? PostgreSQLError
    }
}
