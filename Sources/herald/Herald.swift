import ArgumentParser
import Foundation

/// The one executable: the gateway, its simulator and the commands that talk to them.
@main
struct Herald: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "herald",
        abstract: "A self-hosted push-notification delivery gateway.",
        groupedSubcommands: [
            CommandGroup(name: "Running", subcommands: [DevCommand.self, ServeCommand.self, SimulateCommand.self]),
            CommandGroup(
                name: "Administering",
                subcommands: [
                    KeyCommand.self, ServiceAccountCommand.self, RegistrationCommand.self, DoctorCommand.self,
                ]),
            CommandGroup(
                name: "Talking to a gateway",
                subcommands: [
                    RegisterCommand.self, QuarantineCommand.self, TopicCommand.self, SendCommand.self,
                    MessageCommand.self, ReportCommand.self, ExportCommand.self,
                ]),
        ]
    )

    /// Runs the command that the arguments name, and ends with an exit code of `sysexits.h`.
    static func main() async {
        do {
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
}
