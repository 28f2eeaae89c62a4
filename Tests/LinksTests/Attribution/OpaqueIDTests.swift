import Store
import Testing

struct OpaqueIDTests {
    @Test("an id has 22 characters that read back as the same id")
    func text() throws {
        let ids = (0..<100).map { _ in ClickID.random() }
        #expect(Set(ids).count == 100)
        for id in ids {
            #expect(id.rawValue.utf8.count == 22)
            #expect(ClickID(rawValue: id.rawValue) == id)
            #expect(SixteenBytes(id.value.bytes) == id.value)
        }
    }

    @Test(
        "what is no id is none",
        arguments: ["", "abc", String(repeating: "A", count: 21) + "B", String(repeating: "!", count: 22)])
    func broken(text: String) {
        #expect(ClickID(rawValue: text) == nil)
    }

    @Test("the bytes stand in their order")
    func order() {
        #expect(SixteenBytes(0..<16)?.bytes == Array(0..<16))
        #expect(SixteenBytes(0..<15) == nil && SixteenBytes(0..<17) == nil)
    }
}
