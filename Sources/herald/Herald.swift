import ArgumentParser
import Foundation
import PushModel

/// The one executable: the gateway, its simulator and the commands that talk to them.
@main
struct Herald: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "herald",
        abstract: "A self-hosted push-notification delivery gateway.",
        version: "herald \(HeraldVersion.current)",
        groupedSubcommands: [
            CommandGroup(name: "Running", subcommands: [DevCommand.self, ServeCommand.self, SimulateCommand.self]),
            CommandGroup(
                name: "Administering",
                subcommands: [
                    ProjectCommand.self, OperatorCommand.self, KeyCommand.self, ServiceAccountCommand.self,
                    RegistrationCommand.self,
                    LinksCommand.self,
                    AuditCommand.self,
                    NodeCommand.self, MigrateCommand.self, MoveCommand.self,
                    DoctorCommand.self,
                ]),
            CommandGroup(
                name: "Talking to a gateway",
                subcommands: [
                    RegisterCommand.self, QuarantineCommand.self, UserCommand.self, TopicCommand.self,
                    ChannelCommand.self, WebhookCommand.self,
                    SendCommand.self,
                    MessageCommand.self, ReportCommand.self, WhyCommand.self, StatusCommand.self, TailCommand.self,
                    ExportCommand.self, LinksCommand.self,
                ]),
        ]
    )

    /// Runs the command that the arguments name, and ends with an exit code of `sysexits.h`.
    static func main() async {
        do {
            let arguments = Array(CommandLine.arguments.dropFirst())
            if let failure = unknownCommand(in: arguments) ?? unknownOption(in: arguments) { throw failure }
            var command = try await asyncParseAsRoot()
            if var asynchronous = command as? any AsyncParsableCommand {
                try await asynchronous.run()
            } else {
                try command.run()
            }
        } catch let failure as Failure {
            Terminal.standard.error(failure.description)
            Foundation.exit(failure.code.rawValue)
        } catch {
            exit(withError: error)
        }
    }

    /// The hint at a command that does not exist: the one that was probably meant. `nil`: all are known, or none is
    /// named; the arguments behind them are the parser's affair.
    static func unknownCommand(in arguments: [String]) -> Failure? {
        var parent: any ParsableCommand.Type = Herald.self
        var path = "herald"
        for word in arguments {
            let children = parent.configuration.subcommands
            guard !children.isEmpty, !word.hasPrefix("-"), word != "help" else { return nil }
            if let child = children.first(where: { $0._commandName == word }) {
                parent = child
                path += " \(word)"
                continue
            }
            let names = children.map { $0._commandName }
            let advice =
                Spelling.closest(to: word, among: names).map { "did you mean \($0)?" }
                ?? "\(path) --help lists the commands"
            return Failure(.usage, "there is no command \(path) \(Table.safe(word)); \(advice)")
        }
        return nil
    }

    /// The hint at a long option that the command does not have. The parser validates what it did read first, and so
    /// would say that an option is missing which is there, misspelt. `nil`: all are known, or no command is named.
    static func unknownOption(in arguments: [String]) -> Failure? {
        var command: any ParsableCommand.Type = Herald.self
        var path = "herald"
        var rest = arguments[...]
        while let word = rest.first,
            let child = command.configuration.subcommands.first(where: { $0._commandName == word })
        {
            command = child
            path += " \(word)"
            rest.removeFirst()
        }
        guard command.configuration.subcommands.isEmpty else { return nil }
        // The parser takes each word that begins so for an option, also behind one that has no value yet.
        let given = rest.prefix { $0 != "--" }.filter { $0.hasPrefix("--") }.map { String($0.prefix { $0 != "=" }) }
        guard !given.isEmpty else { return nil }
        let known = helpMessage(for: command, includeHidden: true, columns: 1000).matches(of: /--[a-z][a-z0-9-]*/)
            .map { String($0.output) }
        // What the parser knows without saying so.
        let isOfParser = { (word: String) in word == "--help-hidden" || word.hasPrefix("--experimental-") }
        guard let unknown = given.first(where: { !known.contains($0) && !isOfParser($0) }) else { return nil }
        let advice =
            Spelling.closest(to: unknown, among: known).map { "did you mean \($0)?" }
            ?? "\(path) --help lists the options"
        return Failure(.usage, "\(path) has no option \(Table.safe(unknown)); \(advice)")
    }
}
