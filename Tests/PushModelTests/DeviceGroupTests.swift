import TestSupport
import Testing

@testable import PushModel

struct DeviceGroupTests {
    @Test func aKeyLooksLikeATokenAndIsNoFIDs() throws {
        var random = SeededRandom(seed: 7)
        var keys: Set<NotificationKey> = []
        for _ in 0..<200 {
            let key = NotificationKey(using: &random)
            #expect(NotificationKey(rawValue: key.rawValue) == key)
            #expect(RegistrationToken(rawValue: key.rawValue) != nil)
            let name = try #require(key.rawValue.split(separator: ":").first)
            #expect(name.utf8.count == 22 && RegistrationID(rawValue: String(name)) == nil)
            #expect(key.rawValue.utf8.count == 163)
            #expect(key.description.count == 7 && key.rawValue.hasSuffix(key.description.dropFirst()))
            keys.insert(key)
        }
        #expect(keys.count == 200)
    }

    @Test func otherTextsAreNoKeys() {
        var random = SeededRandom(seed: 8)
        let key = NotificationKey(using: &random).rawValue
        let others = [
            "", "g", String(key.dropLast()), key + "x", "c" + key.dropFirst(), "g:" + key.dropFirst(2),
            key.replacing(":APA91b", with: ":APA91c"), String(key.dropLast()) + " ", String(key.dropLast(2)) + "é",
        ]
        for text in others { #expect(NotificationKey(rawValue: text) == nil, "\(text)") }
    }

    @Test func aNameIsComparedByItsBytes() {
        #expect(DeviceGroupName(rawValue: "e\u{301}") != DeviceGroupName(rawValue: "\u{e9}"))
        #expect(DeviceGroupName(rawValue: "") == nil)
        #expect(DeviceGroupName(rawValue: String(repeating: "x", count: 257)) == nil)
        #expect(DeviceGroupName(rawValue: "a\nb") == nil)
    }

    @Test(arguments: [0, 1, 7_999_999_999_999_999_999, 8_000_000_000_000_000_000, .max] as [UInt64])
    func anIDThatIsANumberHasNineteenDigits(random: UInt64) throws {
        let id = MessageID(number: random)
        #expect(id.rawValue.utf8.count == 19)
        #expect(MessageID(rawValue: id.rawValue) == id)
        #expect(String(try #require(id.number)) == id.rawValue)
        #expect(MessageID(acceptedAt: Timestamp(milliseconds: 5), random: random).number == nil)
    }
}
