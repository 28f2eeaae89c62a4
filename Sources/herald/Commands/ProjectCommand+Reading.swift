import ArgumentParser
import JSON
import PushModel
import Store

extension ProjectCommand {
    /// `herald project list`.
    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the stored projects with their apps.", discussion: "Needs no key: no secret is read.")

        @OptionGroup var file: ConfigurationOption
        @Flag(help: "Print JSON, an object a line.") var json = false

        func run() async throws {
            let stored = try await ProjectCommand.newest(try file.read())
            let projects = stored?.projects ?? []
            if json { return Terminal.standard.print(projects.map(Self.json)) }
            guard let stored, !projects.isEmpty else {
                return Terminal.standard.print("No projects. Store some with herald project apply FILE.")
            }
            var table = Table(titles: ["PROJECT", "NUMBER", "APPS", "FILE"])
            table.rows = projects.map { project in
                let outline = Outline(project)
                return [
                    project.id.rawValue, outline.number ?? "-", outline.apps.joined(separator: ", "), project.file,
                ]
            }
            Terminal.standard.print(table)
            Terminal.standard.error("version \(stored.version.number) of \(stored.version.storedAt.rfc3339)")
        }

        private static func json(_ project: StoredProject) -> JSONValue {
            let outline = Outline(project)
            var members: [JSONValue.Member] = [.init("project", .string(project.id.rawValue))]
            if let number = outline.number { members.append(.init("number", .string(number))) }
            members += [
                .init("apps", .array(outline.apps.map(JSONValue.string))), .init("file", .string(project.file)),
            ]
            return .object(members)
        }

        /// What a project's text says, as far as it can be read without its files.
        private struct Outline {
            let number: String?
            let apps: [String]

            init(_ project: StoredProject) {
                var ignored: [ConfigurationProblem] = []
                let root = ConfigurationFile(path: project.file, content: project.text)
                    .section(purpose: "", problems: &ignored)
                number = root?.integer("number", in: 1...Int.max, problems: &ignored).map(String.init)
                apps = (root?.sections("apps", problems: &ignored) ?? []).compactMap {
                    $0.text("id", problems: &ignored)
                }
            }
        }
    }

    /// `herald project show`.
    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Print the project file of a stored project.",
            discussion: "As it was applied, comments too. The files that it names are secret and are not printed.")

        @Argument(help: "The project.") var project: ProjectID
        @OptionGroup var file: ConfigurationOption

        func run() async throws {
            let stored = try await ProjectCommand.newest(try file.read())
            guard let found = stored?.projects.first(where: { $0.id == project }) else {
                throw Failure(.refused, "no project \(project) in the database; see herald project list")
            }
            Terminal.standard.write(found.text.hasSuffix("\n") ? found.text : found.text + "\n")
        }
    }

    /// `herald project history`.
    struct History: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the versions of the stored projects, newest first.",
            discussion: "The last \(ProjectVersion.kept) are kept; herald audit has longer who changed which project.")

        @OptionGroup var file: ConfigurationOption
        @Flag(help: "Print JSON, an object a line.") var json = false

        func run() async throws {
            let configuration = try file.read()
            try ProjectCommand.checkForDatabase(configuration)
            let versions = try await configuration.withProjectStore { store throws(StoreError) in
                try await store.projectVersions()
            }
            if json { return Terminal.standard.print(versions.map(Self.json)) }
            var table = Table(titles: ["VERSION", "TIME", "BY", "WHAT", "HERALD"])
            table.rows = versions.map { version in
                [
                    String(version.number), version.storedAt.rfc3339, version.credential.name ?? version.credential.id,
                    version.note, version.program,
                ]
            }
            if versions.isEmpty { Terminal.standard.print("No versions.") } else { Terminal.standard.print(table) }
        }

        private static func json(_ version: ProjectVersion) -> JSONValue {
            .object([
                .init("version", .number(String(version.number))), .init("time", .string(version.storedAt.rfc3339)),
                .init("by", .string(version.credential.name ?? version.credential.id)),
                .init("what", .string(version.note)), .init("herald", .string(version.program)),
            ])
        }
    }

    /// The newest version; `nil`: none is stored.
    private static func newest(_ configuration: GatewayConfiguration) async throws(Failure) -> StoredProjects? {
        try checkForDatabase(configuration)
        return try await configuration.withProjectStore { store throws(StoreError) in
            try await store.storedProjects()
        }
    }
}
