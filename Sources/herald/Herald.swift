import ArgumentParser

/// The one executable: the gateway, its simulator and the commands that talk to them.
@main
struct Herald: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "herald",
        abstract: "A self-hosted push-notification delivery gateway."
    )
}
