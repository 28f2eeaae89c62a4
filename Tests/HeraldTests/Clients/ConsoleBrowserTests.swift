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

/// The console in Debian's Firefox, against `herald dev`: the main pages, the composer, a message that is followed; with
/// JavaScript and without.
@Suite(
    .serialized, .heavy, .timeLimit(.minutes(5)),
    .enabled(Python.firefox.expectation, { try await Python.firefox.isFound() }))
struct ConsoleFirefoxTests {
    @Test func operatorsSeeAndSend() async throws {
        let directory = try TestDirectory()
        let state = directory.file("state")
        let demo = try await Demo(state: state)
        try await ClientScript.consoleInFirefox.run("pages", demo, state: state, in: directory)
        #expect(await demo.end() == 0)
    }
}
