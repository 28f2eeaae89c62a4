import ArgumentParser
import Foundation
import JSON
import PushModel
import Store

/// `herald node`: the gateways that share a store.
struct NodeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "node", abstract: "The gateways that share a database.", subcommands: [List.self])

    /// `herald node list`.
    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the gateways that share the database of the configuration.",
            discussion: """
                Reads the database, also while no gateway runs. A gateway that was not heard of for 15 seconds is gone: \
                others take over what it had begun when its lease ends. \
                With "projects: database" it says which version of the projects each has in force, and why one does not \
                take a newer one.
                """)

        @OptionGroup var file: ConfigurationOption
        @Flag(help: "Print JSON, an object a line.") var json = false

        func run() async throws {
            let configuration = try file.read()
            guard configuration.database != nil else {
                let problem = configuration.problem(
                    .data, "only one gateway can have this store; set store.url for a database that several share")
                throw Failure(.configuration, problem.description)
            }
            let nodes: [StoreNode]
            do throws(StoreError) {
                let opened = try await configuration.openStoreWithNodes(as: .command)
                nodes = try await opened.nodes?.nodes() ?? []
                try opened.store.close()
            } catch {
                throw Failure(store: error, in: configuration)
            }
            if json { return Terminal.standard.print(nodes.map(Self.json)) }
            var table = Table(titles: [
                "NODE", "STATE", "VERSION", "STARTED", "HEARD OF", "PROJECTS", "NAME", "ADDRESS",
            ])
            table.rows = nodes.map { node in
                [
                    String(node.number), node.isLive ? "live" : "gone", node.version, node.startedAt.rfc3339,
                    node.heardAt.rfc3339, Self.text(of: node.projects), node.name, node.address ?? "-",
                ]
            }
            if nodes.isEmpty { Terminal.standard.print("No nodes.") } else { Terminal.standard.print(table) }
        }

        /// The version of the stored projects that is in force, and why it is not the newest.
        private static func text(of projects: ProjectStanding?) -> String {
            guard let projects else { return "-" }
            return projects.problem.map { "\(projects.version), refuses \($0)" } ?? String(projects.version)
        }

        private static func json(_ node: StoreNode) -> JSONValue {
            var members: [JSONValue.Member] = [
                .init("node", .number(String(node.number))), .init("live", .bool(node.isLive)),
                .init("version", .string(node.version)), .init("startTime", .string(node.startedAt.rfc3339)),
                .init("heardTime", .string(node.heardAt.rfc3339)), .init("name", .string(node.name)),
            ]
            if let projects = node.projects {
                members.append(.init("projectsVersion", .number(String(projects.version))))
                if let problem = projects.problem { members.append(.init("projectsProblem", .string(problem))) }
            }
            if let address = node.address { members.append(.init("address", .string(address))) }
            return .object(members)
        }
    }
}
