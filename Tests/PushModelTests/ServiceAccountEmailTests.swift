import PushModel
import Testing

struct ServiceAccountEmailTests {
    private let project = ProjectID(rawValue: "demo_1")!

    @Test func isMadeOfNameAndProject() throws {
        let email = try #require(ServiceAccountEmail(name: "back-end2", project: project))
        #expect(email.rawValue == "back-end2@demo_1.iam.herald")
        #expect(email.project == project)
        #expect(ServiceAccountEmail(rawValue: email.rawValue) == email)
    }

    @Test(arguments: ["", "Backend", "1a", "-a", "a_b", "a@b", "a b", "ä", String(repeating: "a", count: 31)])
    func refusesBadNames(name: String) {
        #expect(ServiceAccountEmail(name: name, project: project) == nil)
    }

    @Test(arguments: [
        "a@demo", "a@demo.iam.herald.com", "@demo.iam.herald", "a@.iam.herald", "a@b@demo.iam.herald",
        "a@demo.iam.gserviceaccount.com", "a@de.mo.iam.herald",
    ])
    func refusesOtherAddresses(text: String) {
        #expect(ServiceAccountEmail(rawValue: text) == nil)
    }
}
