import PushModel
import Testing

/// What services say of pushes that they accept, as the ledger keeps it.
struct AcceptanceTests {
    @Test(
        arguments: [
            ("0:1%1", nil, "0:1%1"), ("https://push.example/m/1", 60, "https://push.example/m/1 60"), (nil, 0, " 0"),
        ] as [(String?, Int64?, String)])
    func whatAServiceSaysComesBackFromItsText(id: String?, seconds: Int64?, text: String) throws {
        let acceptance = try #require(Acceptance(id: id, seconds: seconds))
        #expect(acceptance.text == text)
        #expect(acceptance.id == id && acceptance.seconds == seconds)
        #expect(Acceptance(text: text) == acceptance)
    }

    @Test(
        arguments: [
            (nil, nil), ("", nil), ("a b", nil), ("a\nb", nil), ("é", nil), (String(repeating: "x", count: 1025), -1),
        ] as [(String?, Int64?)])
    func whatIsNoIDAndNoTimeSaysNothing(id: String?, seconds: Int64?) {
        #expect(Acceptance(id: id, seconds: seconds) == nil)
    }

    @Test(arguments: ["", " ", " x", " -1"]) func aTextThatSaysNothingIsNone(text: String) {
        #expect(Acceptance(text: text) == nil)
    }
}
