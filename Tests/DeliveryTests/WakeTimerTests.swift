import TestSupport
import Testing

@testable import Delivery

@Suite(.timeLimit(.minutes(5)))
struct WakeTimerTests {
    @Test func theEarliestTimeIsTheOneThatWakes() async {
        let (clock, event) = (TestClock(), AutoResetEvent())
        let timer = WakeTimer(raising: event, on: clock)
        let run = Task { await timer.run() }
        timer.wake(within: .seconds(60))
        await clock.sleepers(within: .seconds(60))
        timer.wake(within: .seconds(5))
        await clock.sleepers(within: .seconds(5))
        // A later one changes nothing.
        timer.wake(within: .seconds(30))
        clock.advance(by: .seconds(5))
        await event.wait()
        // What was named after it is waited for anew.
        timer.wake(within: .seconds(30))
        await clock.sleepers(within: .seconds(30))
        clock.advance(by: .seconds(30))
        await event.wait()
        run.cancel()
        await run.value
    }
}
