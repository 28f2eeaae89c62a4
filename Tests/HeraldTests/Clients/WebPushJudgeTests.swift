import TestSupport
import Testing

/// What others make of Web Push as `herald dev` sends it: libraries that read it, and browsers at the page that it serves,
/// which uses the module that every gateway serves.
///
/// The push service that stands between is a script too, so that nothing of ours judges itself.
@Suite(
    .serialized, .heavy, .timeLimit(.minutes(5)),
    .enabled(Python.webPush.expectation, { try await Python.webPush.isFound() }))
struct WebPushJudgeTests {
    @Test func librariesReadWhatIsSent() async throws {
        try await judge("libraries")
    }

    @Test(.enabled(Python.firefox.expectation, { try await Python.firefox.isFound() }))
    func firefoxSubscribesAtThePageAndShowsWhatIsSent() async throws {
        try await judge("firefox")
    }

    @Test(.enabled(Python.chromium.expectation, { try await Python.chromium.isFound() }))
    func chromiumUsesTheModuleThatTheGatewayServes() async throws {
        try await judge("chromium")
    }

    private func judge(_ group: String) async throws {
        let directory = try TestDirectory()
        let state = directory.file("state")
        let demo = try await Demo(state: state)
        try await ClientScript.webPush.run(group, demo, state: state, in: directory)
        #expect(await demo.end() == 0)
    }
}
