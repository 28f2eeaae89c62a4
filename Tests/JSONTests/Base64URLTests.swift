import JSON
import Testing

struct Base64URLTests {
    // RFC 4648 §10, without padding, and the two characters that differ from base64.
    @Test(arguments: [
        ("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foob", "Zm9vYg"), ("fooba", "Zm9vYmE"),
        ("foobar", "Zm9vYmFy"), ("~~?", "fn4_"), ("~~>", "fn4-"),
    ])
    func textAndBytesAreWorthTheSame(bytes: String, text: String) {
        #expect(Base64URL.text(bytes.utf8) == text)
        #expect(Base64URL.bytes(text) == Array(bytes.utf8))
    }

    @Test func longTextsComeBack() {
        let bytes = (0..<1000).map { UInt8(truncatingIfNeeded: $0 &* 167) }
        #expect(Base64URL.bytes(Base64URL.text(bytes)) == bytes)
    }

    @Test(arguments: ["Z", "Zg==", "Zh", "fn4/", "fn4+", "Z g", "Zm9vé", "Zm9vY"])
    func otherTextsAreRefused(text: String) {
        #expect(Base64URL.bytes(text) == nil)
    }
}
