import JSON
import PushModel
import Store
import Testing

@testable import Webhooks

/// What receivers of webhooks and followers of events see.
struct EventViewTests {
    private static let app = AppID(rawValue: "com.example.app")!

    /// An Apple app and an Android app may have one id.
    @Test(arguments: Platform.allCases)
    func theEndOfARegistrationNamesItsPlatform(platform: Platform) throws {
        let ids = (
            first: RegistrationID(rawValue: "cAAAAAAAAAAAAAAAAAAAAA")!,
            second: RegistrationID(rawValue: "dAAAAAAAAAAAAAAAAAAAAA")!
        )
        let causes: [RegistrationEnd.Cause] = [.deleted, .unregistered, .replaced, .superseded]
        for cause in causes {
            let isReplaced = cause == .replaced || cause == .superseded
            let event = Event(
                number: EventNumber(rawValue: 7), project: ProjectID(rawValue: "demo")!,
                time: Timestamp(milliseconds: 1_767_323_045_678),
                kind: .registrationEnded(
                    EndedRegistration(
                        registration: ids.first, app: AppKey(platform, Self.app), cause: cause,
                        replacement: isReplaced ? ids.second : nil)))
            var data: [JSONValue.Member] = [
                .init("registration", .string(ids.first.rawValue)), .init("app", .string("com.example.app")),
                .init("platform", .string(platform.rawValue)), .init("cause", .string(cause.rawValue.uppercased())),
            ]
            if isReplaced { data.append(.init("replacement", .string(ids.second.rawValue))) }
            #expect(EventView.body(event, report: nil)["data"] == .object(data))
            #expect(EventView.json(event)["data"] == .object(data))
            #expect(
                EventView.json(event)["type"] == .string(isReplaced ? "registration.replaced" : "registration.ended"))
        }
    }
}
