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
                    KeyCommand.self, ServiceAccountCommand.self, RegistrationCommand.self, AuditCommand.self,
                    DoctorCommand.self,
                ]),
            CommandGroup(
                name: "Talking to a gateway",
                subcommands: [
                    RegisterCommand.self, QuarantineCommand.self, TopicCommand.self, SendCommand.self,
                    MessageCommand.self, ReportCommand.self, WhyCommand.self, StatusCommand.self, ExportCommand.self,
                ]),
        ]
    )

    /// Runs the command that the arguments name, and ends with an exit code of `sysexits.h`.
    static func main() async {
        do {
            if let failure = unknownCommand(in: Array(CommandLine.arguments.dropFirst())) { throw failure }
            var command = try await asyncParseAsRoot()
            if var asynchronous = command as? any AsyncParsableCommand {
                try await asynchronous.run()
            } else {
                try command.run()
            }
        } catch let failure as Failure {
            Console.standard.error(failure.description)
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
}
