import ServiceLifecycle
import Simulators

/// Prints each push that arrives at the simulator, as a phone would show it.
struct PushPrinter: Service {
    let recording: Recording

    func run() async throws {
        let console = Console.standard
        let width = min(console.width, 100)
        for await push in recording.arrivals().cancelOnGracefulShutdown() {
            console.print(PushPresentation(push).text(width: width, usesColour: console.isTerminal))
        }
    }
}
