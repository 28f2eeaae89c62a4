import PushModel
import Testing

struct TimestampTests {
    @Test(
        arguments: [
            (0, "1970-01-01T00:00:00.000Z"), (-1, "1969-12-31T23:59:59.999Z"),
            (951_827_696_789, "2000-02-29T12:34:56.789Z"),
            (1_709_210_096_000, "2024-02-29T12:34:56.000Z"), (-2_203_891_200_000, "1900-03-01T00:00:00.000Z"),
            (253_402_300_799_999, "9999-12-31T23:59:59.999Z"), (-62_167_219_200_000, "0000-01-01T00:00:00.000Z"),
        ] as [(Int64, String)])
    func timesAreWrittenAndRead(milliseconds: Int64, text: String) {
        #expect(Timestamp(milliseconds: milliseconds).rfc3339 == text)
        #expect(Timestamp(rfc3339: text)?.milliseconds == milliseconds)
    }

    @Test(
        arguments: [
            ("2024-02-29T12:34:56Z", 1_709_210_096_000), ("2024-02-29t12:34:56z", 1_709_210_096_000),
            ("2024-02-29T12:34:56.5Z", 1_709_210_096_500), ("2024-02-29T12:34:56.123456789Z", 1_709_210_096_123),
            ("2024-02-29T14:34:56+02:00", 1_709_210_096_000), ("2024-02-29T04:04:56.25-08:30", 1_709_210_096_250),
            ("2016-12-31T23:59:60Z", 1_483_228_800_000),
        ] as [(String, Int64)])
    func offsetsAndFractionsAreRead(text: String, milliseconds: Int64) {
        #expect(Timestamp(rfc3339: text)?.milliseconds == milliseconds)
    }

    @Test(arguments: [
        "", "2024-02-29", "2024-02-29T12:34:56", "2024-02-29 12:34:56Z", "2023-02-29T00:00:00Z", "1900-02-29T00:00:00Z",
        "2024-13-01T00:00:00Z", "2024-00-01T00:00:00Z", "2024-04-31T00:00:00Z", "2024-01-00T00:00:00Z",
        "2024-01-01T24:00:00Z", "2024-01-01T00:60:00Z", "2024-01-01T00:00:61Z", "2024-01-01T00:00:00.Z",
        "2024-01-01T00:00:00+0100", "2024-01-01T00:00:00+24:00", "2024-01-01T00:00:00Zx", "+2024-01-01T00:00:00Z",
        "24-01-01T00:00:00Z", "2024-1-1T00:00:00Z", "2024-01-01T00:00:00,5Z", "２024-01-01T00:00:00Z",
    ])
    func otherTextsAreRefused(text: String) {
        #expect(Timestamp(rfc3339: text) == nil)
    }

    @Test func everyDayOfFourCenturiesComesBack() {
        var day = Timestamp(rfc3339: "1900-01-01T06:00:00Z")!
        var previous = ""
        for _ in 0..<146_097 {
            let text = day.rfc3339
            #expect(text > previous)
            #expect(Timestamp(rfc3339: text) == day)
            previous = text
            day = day + .seconds(86_400)
        }
        #expect(day.rfc3339 == "2300-01-01T06:00:00.000Z")
    }

    @Test func extremesDoNotTrap() {
        #expect(Timestamp(milliseconds: .max).rfc3339.hasSuffix("Z"))
        #expect(Timestamp(milliseconds: .min).rfc3339.hasPrefix("-"))
    }
}
