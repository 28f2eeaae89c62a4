import PushModel
import Testing

@testable import Delivery

struct ReasonLabelTests {
    @Test(arguments: TransportCause.known)
    func everyCauseOfOursIsItsOwnLabel(cause: TransportCause) {
        #expect(ReasonLabel.of(cause.rawValue) == cause.rawValue)
    }

    @Test func whatAPeerMakesUpIsNoLabel() {
        #expect(ReasonLabel.of("MadeUpByAPeer") != "MadeUpByAPeer")
        #expect(TransportCause.known.contains(TransportCause(rawValue: "signing_failed")))
    }
}
