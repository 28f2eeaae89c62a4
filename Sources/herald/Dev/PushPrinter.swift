import ServiceLifecycle
import Simulators

/// Prints each push that arrives at a simulator, as a phone, an Android device or a browser would show it.
struct PushPrinter<Push: Arrival>: Service {
    let recording: ArrivalLog<Push>
    let presentation: @Sendable (Push) -> PushPresentation

    func run() async throws {
        let console = Terminal.standard
        let width = min(console.width, 100)
        for await push in recording.arrivals().cancelOnGracefulShutdown() {
            console.print(presentation(push).text(width: width, usesColour: console.isTerminal))
        }
    }
}

extension PushPrinter<RecordedPush> {
    /// Prints what arrives at the simulated APNs.
    static func phone(_ recording: Recording) -> Self {
        Self(recording: recording) { PushPresentation($0) }
    }

    /// Prints what arrives at the simulated Google.
    static func android(_ recording: Recording) -> Self {
        Self(recording: recording) { PushPresentation(android: $0) }
    }
}

extension PushPrinter<RecordedWebPush> {
    /// Prints what arrives at the simulated push service.
    static func browser(_ recording: ArrivalLog<RecordedWebPush>) -> Self {
        Self(recording: recording) { PushPresentation(browser: $0) }
    }
}
