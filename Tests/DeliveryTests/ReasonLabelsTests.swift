import PushModel
import TestSupport
import Testing

@testable import Delivery

struct ReasonLabelsTests {
    private static let labels = ReasonLabels(catalog: .sample)

    @Test(arguments: TransportCause.known)
    func everyCauseOfOursIsItsOwnLabel(cause: TransportCause) {
        #expect(Self.labels.label(of: cause.rawValue) == cause.rawValue)
    }

    @Test func whatAPeerMakesUpIsNoLabel() {
        #expect(Self.labels.label(of: "MadeUpByAPeer") != "MadeUpByAPeer")
        #expect(TransportCause.known.contains(TransportCause(rawValue: "signing_failed")))
    }
}
