import ArgumentParser

/// Measures Herald's parts on this machine. Nothing leaves 127.0.0.1, everything ends by itself.
@main
struct HeraldBench: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "herald-bench",
        abstract: "Measures Herald's parts on this machine; nothing leaves 127.0.0.1.",
        subcommands: [
            EngineCommand.self, SenderCommand.self, BroadcastCommand.self, LatencyCommand.self, IngestCommand.self,
            ClientsCommand.self, RecoveryCommand.self, RegistrationsCommand.self, ImportCommand.self,
            LedgerCommand.self, SettleCommand.self, RetentionCommand.self, EchoCommand.self, SinkCommand.self,
            SendCommand.self, SendAPNSCommand.self, MeasureCommand.self, LinksCommand.self, RedirectCommand.self,
            PostCommand.self, EncryptionCommand.self, EncryptCommand.self, MixedCommand.self,
            TracingCommand.self,
            WebhooksCommand.self, IdleCommand.self,
        ])
}
