import PushModel
import Testing

struct IdentifierTests {
    static let message = MessageID(rawValue: "0:1700000000000000-00000000000000ab")!

    @Test func theIdOfADeliveryNeverChanges() {
        // Pinned: ids of deliveries in the store must come out the same in every later version.
        let id = PushID(message: Self.message, registration: RegistrationKey(rawValue: 42))
        #expect(id.rawValue == "1dcae8ff-99a8-8a95-b564-425fb7628138")
        #expect(PushID(message: Self.message, registration: RegistrationKey(rawValue: 42)) == id)
    }

    @Test func idsAreVersion8UUIDsWithoutCollision() {
        var seen: Set<String> = []
        for key in 1...100_000 {
            let id = PushID(message: Self.message, registration: RegistrationKey(rawValue: Int64(key))).rawValue
            seen.insert(id)
            let bytes = Array(id.utf8)
            #expect(bytes[14] == UInt8(ascii: "8"))
            #expect(Array("89ab".utf8).contains(bytes[19]))
        }
        #expect(seen.count == 100_000)
        let sample = seen.first ?? ""
        #expect(PushID(rawValue: sample)?.rawValue == sample)
    }

    @Test func idsOfDifferentMessagesDiffer() {
        let ids = (0..<10_000).map { number in
            let message = MessageID(acceptedAt: Timestamp(milliseconds: 1_700_000_000_000), random: UInt64(number))
            return PushID(message: message, registration: RegistrationKey(rawValue: 1))
        }
        #expect(Set(ids).count == ids.count)
    }

    @Test func messageIdsSortByTheTimeOfAcceptance() {
        let ids = (0..<100).map { MessageID(acceptedAt: Timestamp(milliseconds: 1_700_000_000_000 + $0), random: .max) }
        #expect(ids.map(\.rawValue) == ids.map(\.rawValue).sorted())
        #expect(ids.allSatisfy { MessageID(rawValue: $0.rawValue) == $0 })
    }

    @Test(arguments: ["", "g0", "abc", "0", "a b0", String(repeating: "a", count: 4098)])
    func deviceTokensAreAnEvenNumberOfHexDigits(hex: String) {
        #expect(DeviceToken(hex: hex) == nil)
    }

    @Test func deviceTokensComeBackInLowerCaseAndHideThemselves() {
        let token = DeviceToken(hex: "00FFaB12345678")
        #expect(token?.hex == "00ffab12345678")
        #expect(token?.bytes.first == 0)
        #expect(token.map { "\($0)" } == "…345678")
    }

    @Test(arguments: [
        ("00000000-0000-8000-8000-00000000000", false), ("00000000-0000-8000-8000-00000000000g", false),
        ("{00000000-0000-8000-8000-000000000000}", false), ("00000000-0000-8000-8000-00000000000０", false),
        ("ABCDEFAB-0000-8000-8000-000000000000", true),
    ])
    func apnsIdsAreCanonicalUUIDs(text: String, isValid: Bool) {
        #expect(PushID(rawValue: text)?.rawValue == (isValid ? text.lowercased() : nil))
    }

    @Test(arguments: ["", "a\nb", "\u{7f}", "\u{85}", String(repeating: "ü", count: 129)])
    func aUserIsAShortTextWithoutControlCharacters(text: String) {
        #expect(UserID(rawValue: text) == nil)
    }

    @Test func usersAreComparedByteForByte() {
        #expect(UserID(rawValue: String(repeating: "ü", count: 128)) != nil)
        #expect(UserID(rawValue: "\u{e9}") != UserID(rawValue: "e\u{301}"))
        #expect(Set([UserID(rawValue: "a b"), UserID(rawValue: "a b")]).count == 1)
    }

    @Test func aRegistrationIsStaleByThePolicyOfItsProject() {
        let now = Timestamp(milliseconds: 300 * 86_400_000)
        func registration(_ day: Int64) -> Registration {
            Registration(
                key: RegistrationKey(rawValue: 1), id: RegistrationID(rawValue: "cAAAAAAAAAAAAAAAAAAAAA")!,
                token: RegistrationToken(rawValue: "cAAAAAAAAAAAAAAAAAAAAA:APA91b_x")!,
                project: ProjectID(rawValue: "p")!, app: AppID(rawValue: "a")!,
                address: .apple(DeviceToken(bytes: [1])!, .production), appVersion: nil, createdAt: now,
                refreshedAt: Timestamp(milliseconds: day * 86_400_000), end: nil)
        }
        var policy = StalePolicy()
        #expect(policy.shows(registration(29), at: now) && !policy.shows(registration(30), at: now))
        #expect(policy.refreshedSince(at: now) == nil)
        policy.action = .skip
        #expect(policy.refreshedSince(at: now) == Timestamp(milliseconds: 30 * 86_400_000))
        policy.action = .send
        #expect(!policy.shows(registration(0), at: now) && policy.refreshedSince(at: now) == nil)
    }
}
