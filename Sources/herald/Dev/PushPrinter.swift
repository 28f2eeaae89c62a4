import APNSSimulator
import ServiceLifecycle

/// Prints each push that arrives at the simulator, as a phone would show it.
struct PushPrinter: Service {
    let recording: Recording

    func run() async throws {
        for await push in recording.arrivals().cancelOnGracefulShutdown() {
            Console.standard.print(PushPresentation(push).text)
        }
    }
}
