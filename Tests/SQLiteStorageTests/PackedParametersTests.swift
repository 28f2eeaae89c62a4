import Store
import TestSupport
import Testing

struct PackedParametersTests {
    private static let link =
        "afl=https%3A%2F%2Fshop.example%2Fsale&apn=com.example.shop&ibi=com.example.shop&isi=1234567890"
        + "&link=https%3A%2F%2Fwww.shop.example%2Fproducts%2F17%3Fref%3Dmail&st=Gr%C3%BC%C3%9Fe&utm_campaign=spring"

    @Test(arguments: [
        "", "a", "%", "%2", "%2f%2F", "%C3%BC", "grüße", "&link", "&link=", "link=https%3A%2F%2Fwww", link,
        String(repeating: "%E2%82%AC", count: 100), String(repeating: "é", count: 200),
    ])
    func everyTextHasItsWayBack(text: String) throws {
        let packed = PackedParameters.pack(text)
        #expect(packed.count <= 2 * text.utf8.count)
        #expect(try PackedParameters.unpack(packed) == text)
    }

    @Test func textsOfChanceHaveTheirWayBack() throws {
        var random = SeededRandom(seed: 17)
        let parts = [
            "&", "=", "%", "%2F", "%3A", "link", "&link=", "https", "apn=com.", "a", "é", "\u{0}", "😀", "%ff", "%FF",
        ]
        for _ in 0..<2000 {
            let count = Int.random(in: 0..<40, using: &random)
            let text = (0..<count).map { _ in parts[Int.random(in: 0..<parts.count, using: &random)] }.joined()
            #expect(try PackedParameters.unpack(PackedParameters.pack(text)) == text)
        }
    }

    /// What columns hold may never be read as something else by a later version.
    @Test func theLongestTextIsOneByte() {
        #expect(PackedParameters.pack("link=https%3A%2F%2Fwww.") == [0x8f])
        #expect(PackedParameters.pack("link=https%3A%2F%2Fww") == [0x8e, UInt8(ascii: "w"), UInt8(ascii: "w")])
        #expect(PackedParameters.pack("%2F%C3%BC") == [0x80, 0xfe, 2, 0xc3, 0xbc])
        #expect(PackedParameters.pack(Self.link).count < Self.link.utf8.count / 2 + 10)
    }

    @Test(arguments: [[0xfe], [0xfe, 2, 1], [0xff, 1], [0xfd]] as [[UInt8]])
    func whatIsDamagedIsNoText(packed: [UInt8]) {
        #expect(throws: (any Error).self) { try PackedParameters.unpack(packed) }
    }
}
