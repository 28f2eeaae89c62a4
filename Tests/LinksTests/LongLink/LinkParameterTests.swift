import Testing

@testable import Links

struct LinkParameterTests {
    @Test("every parameter has a name of its own")
    func names() {
        #expect(Set(LinkParameter.allCases.map(\.rawValue)).count == LinkParameter.allCases.count)
    }
}
