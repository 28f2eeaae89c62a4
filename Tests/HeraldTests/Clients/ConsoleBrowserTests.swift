import TestSupport
import Testing

/// The console in Debian's Chromium, against `herald dev`: signing in, the composer, pages that follow what happens, what
/// readers of the screen are told, and all of it without JavaScript.
@Suite(
    .serialized, .heavy, .timeLimit(.minutes(5)),
    .enabled(Python.chromium.expectation, { try await Python.chromium.isFound() }))
struct ConsoleBrowserTests {
    @Test func operatorsSeeAndSend() async throws {
        let directory = try TestDirectory()
        let state = directory.file("state")
        let demo = try await Demo(state: state)
        try await ClientScript.console.run("pages", demo, state: state, in: directory)
        #expect(await demo.end() == 0)
    }
}
