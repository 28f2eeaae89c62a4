import ArgumentParser
import JSON
import Links
import Logging
import PushModel
import Store

/// `herald project`: the projects of gateways that share a database, when they are kept in it.
struct ProjectCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "project", abstract: "Keep the projects of all gateways in their database.",
        discussion: """
            For a configuration with "projects: database" (or HERALD_PROJECTS=database). What is stored is a project file as \
            in a directory of project files, with the keys and certificates that it names, sealed with HERALD_SECRETS_KEY: \
            32 bytes in base64, the same for all gateways, or in the file that HERALD_SECRETS_KEY_FILE names. Gateways take \
            a new version within 2 seconds, each as a whole.
            """,
        subcommands: [
            Apply.self, Remove.self, List.self, Show.self, History.self, Rollback.self, Reseal.self,
        ])

    /// `herald project apply`.
    struct Apply: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Store projects from project files, checked as a gateway checks them.",
            discussion: "Other projects stay. A file with a mistake is told with line and field, and nothing is stored."
        )

        @Argument(help: "Project files, or directories with such.") var files: [String]
        @OptionGroup var file: ConfigurationOption
        @Flag(help: "The files are of all projects: remove others.") var all = false
        @Flag(help: "With --all: the key of what is stored is lost, this is a new one.") var newKey = false
        @Flag(help: "Print JSON.") var json = false

        func validate() throws {
            guard newKey, !all else { return }
            throw ValidationError("--new-key needs --all: without its key nothing that is stored can be kept")
        }

        func run() async throws {
            let (files, all, newKey) = (files, all, newKey)
            try await ProjectCommand.change(file, json) {
                try await $0.apply(files, isAll: all, isNewKey: newKey)
            }
        }
    }

    /// `herald project remove`.
    struct Remove: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Remove a project: its keys and callers get 403, its devices nothing any more.",
            discussion: "What is stored of its messages and registrations stays until its time is over.")

        @Argument(help: "The project.") var project: ProjectID
        @OptionGroup var file: ConfigurationOption
        @Flag(help: "Print JSON.") var json = false

        func run() async throws {
            let project = project
            try await ProjectCommand.change(file, json) { try await $0.remove(project) }
        }
    }

    /// `herald project rollback`.
    struct Rollback: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Store an earlier version of all projects once more, as a new one.")

        @Argument(help: "The version, as history shows it.") var version: Int64
        @OptionGroup var file: ConfigurationOption
        @Flag(help: "Print JSON.") var json = false

        func run() async throws {
            let version = version
            try await ProjectCommand.change(file, json) { try await $0.rollBack(to: version) }
        }
    }

    /// `herald project reseal`.
    struct Reseal: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Seal the secrets of all versions with another key.",
            discussion: """
                First restart the gateways one after another with the new key in HERALD_SECRETS_KEY and the one before it in \
                HERALD_SECRETS_KEY_FORMER: they open what either has sealed. Run this with both, then take the former key \
                away. Nothing else changes. Earlier versions that neither key opens are removed.
                """)

        @OptionGroup var file: ConfigurationOption

        func run() async throws {
            let configuration = try file.read()
            let done = try await ProjectCommand.updating(configuration) { try await $0.reseal() }
            if done.removed > 0 {
                Terminal.standard.print("\(done.removed) earlier versions, which no key opens, are removed.")
            }
            Terminal.standard.print(
                "\(done.sealed) versions are sealed with \(configuration.secretsKeys.keyVariable) now.")
        }
    }

    // MARK: Running a change

    private static func change(
        _ file: ConfigurationOption, _ json: Bool, _ body: (ProjectUpdate) async throws -> ProjectUpdate.Result
    ) async throws {
        let result = try await updating(try file.read(), body)
        for warning in result.warnings { Terminal.standard.error("herald: \(warning)") }
        guard !json else {
            let changes = result.changes.map { JSONValue.Member($0.project.rawValue, .string($0.what)) }
            let version = result.version.map { [JSONValue.Member("version", .number(String($0)))] } ?? []
            let answer = JSONValue.object(version + [.init("changes", .object(changes))])
            return Terminal.standard.print(String(decoding: answer.bytes, as: UTF8.self))
        }
        guard let version = result.version else { return Terminal.standard.print("Nothing is different.") }
        for change in result.changes { Terminal.standard.print("\(change.project): \(change.what)") }
        Terminal.standard.print("Version \(version) is stored; herald node list shows which gateways have taken it.")
    }

    private static func updating<Result>(
        _ configuration: GatewayConfiguration, _ body: (ProjectUpdate) async throws -> Result
    ) async throws -> Result {
        try checkForDatabase(configuration)
        do {
            let reader = try configuration.storedProjectReader()
            let opened = try await configuration.openStoreWithNodes(as: .command)
            let update = ProjectUpdate(
                store: try opened.projectStore(), reader: reader, credential: .command,
                check: { projects throws(ConfigurationError) in try await check(projects, configuration) })
            let result = try await body(update)
            try opened.store.close()
            return result
        } catch {
            throw Failure(starting: configuration, error)
        }
    }

    /// Whether a gateway would take the projects: what push services and links need beyond what their files say.
    private static func check(
        _ projects: ProjectSet, _ configuration: GatewayConfiguration
    ) async throws(ConfigurationError) {
        let senders = PushSenders(
            configuration, sharedTokens: nil, wallTime: Timestamp.systemTime,
            logger: Logger(label: "project", factory: { _ in SwiftLogNoOpLogHandler() }))
        let result = Result { () throws(ConfigurationError) in try senders.use(projects) }
        await senders.all.shutdown(within: .zero)
        try result.get()
        do throws(LinkProblem) {
            try LinkHosts().replace(with: projects.projects)
        } catch {
            let place = ConfigurationPlace(source: "links", line: nil)
            throw ConfigurationError(problems: [ConfigurationProblem(place, "\(error)")])
        }
    }

    /// Refuses a configuration whose projects are files.
    static func checkForDatabase(_ configuration: GatewayConfiguration) throws(Failure) {
        guard !configuration.areProjectsStored else { return }
        let text =
            "the project files in \(configuration.projectsDirectory) are in force; set \"projects: database\" (or "
            + "HERALD_PROJECTS=database) to keep projects in the database"
        throw Failure(.configuration, configuration.problem(.projects, text).description)
    }
}
