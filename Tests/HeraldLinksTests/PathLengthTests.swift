import HeraldLinks
import Testing

struct PathLengthTests {
    @Test("path lengths have the numbers of Firebase's SDK")
    func numbers() {
        #expect(ShortDynamicLinkPathLength(rawValue: 2) == .unguessable)
    }
}
