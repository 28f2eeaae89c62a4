import ArgumentParser
import Foundation
import Store

/// `herald move`: copies the embedded store into a database that several gateways share.
struct MoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "move", abstract: "Copy the store of a directory into a PostgreSQL database.",
        discussion: """
            The gateway of the directory has to be stopped, and the database may have no content; its tables are made. \
            Every table is copied and compared, in one transaction: a move that is broken off leaves nothing in the \
            database and can begin anew. The directory stays as it is. Afterwards set store.url in the configuration \
            and start the gateways; project files stay files, unless "projects: database" and herald project apply put \
            them into the database too.
            Exit codes: 69 the store or the database is in use or can't be reached, 74 disk or a difference, 78 arguments.
            """)

    @Option(help: "The directory of the store, as \"data\" in the gateway's configuration.") var from: String
    @Option(help: "The database, as store.url in the gateway's configuration.") var to: String
    @Option(help: "A file with the database's password.") var passwordFile: String?

    func run() async throws {
        var source = GatewayConfiguration()
        source.dataDirectory = from
        guard source.hasStore else { throw Failure(.configuration, "--from: there is no store in \(from)") }
        if let problem = SharedStore.problem(of: to) { throw Failure(.configuration, "--to: \(problem)") }
        var target = source
        target.database = GatewayConfiguration.SharedDatabase(url: to, passwordFile: passwordFile)
        source.places[.data] = ConfigurationPlace(source: "--from", line: nil)
        target.places[.storeURL] = ConfigurationPlace(source: "--to", line: nil)
        let tables = try await SharedStore.move(from: source, to: target) { table, done, total in
            Terminal.standard.progress("\(table): \(done) of \(total)")
        }
        Terminal.standard.progress("")
        var table = Table(titles: ["TABLE", "ROWS"])
        table.rows = tables.filter { $0.rows > 0 }.map { [$0.table, String($0.rows)] }
        Terminal.standard.print(table)
        let rows = tables.reduce(0) { $0 + $1.rows }
        Terminal.standard.error("\(rows) rows copied and compared; set store.url and start the gateways")
    }
}
