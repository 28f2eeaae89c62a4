import APNSSimulator
import Foundation
import TestSupport
import Testing

/// The legacy API as its best known client uses it: pyfcm 1.5 against a whole gateway.
@Suite(.timeLimit(.minutes(5)))
struct LegacyClientTests {
    /// A Python with pyfcm 1.5.
    private static let python = ProcessInfo.processInfo.environment["HERALD_PYTHON_LEGACY"]

    /// Prints a line of JSON for each call.
    private static let script = """
        import json, sys
        import pyfcm.baseapi
        from pyfcm import FCMNotification
        from pyfcm.errors import AuthenticationError, InvalidDataError

        base, key, one, two = sys.argv[1:]
        pyfcm.baseapi.BaseAPI.FCM_END_POINT = base + "/fcm/send"
        client = FCMNotification(api_key=key)

        def tell(call):
            try:
                print(json.dumps(call()), flush=True)
            except (AuthenticationError, InvalidDataError) as error:
                print(json.dumps({"raised": type(error).__name__, "text": str(error)}), flush=True)

        tell(lambda: client.notify_single_device(registration_id=one, message_title="T", message_body="B", badge=2,
            sound="ping.caf", click_action="OPEN", collapse_key="score", time_to_live=60, delay_while_idle=True))
        tell(lambda: client.notify_multiple_devices(registration_ids=[one, "abcdefgh:APA91bunknown", two], body_loc_key="K",
            body_loc_args=["a", "b"], low_priority=True))
        tell(lambda: client.single_device_data_message(registration_id=two, data_message={"a": 1, "b": {"c": True}}))
        tell(lambda: client.notify_topic_subscribers(topic_name="news", message_body="to all"))
        tell(lambda: client.notify_topic_subscribers(condition="'news' in topics && !('sport' in topics)",
            message_body="to some"))
        tell(lambda: client.notify_single_device(registration_id=one, message_body="dry", dry_run=True))
        tell(lambda: client.notify_single_device(registration_id=one, message_body="x", data_message={"from": "x"}))
        tell(lambda: client.notify_single_device(registration_id=one, message_body="x",
            extra_kwargs={"no_such_key": 1}))
        tell(lambda: FCMNotification(api_key="AAAA:APA91bwrong").notify_single_device(registration_id=one,
            message_body="x"))
        """

    @Test(.enabled(if: python != nil, "needs Python with pyfcm 1.5: see HERALD_PYTHON_LEGACY"))
    func pyfcmSendsUnchanged() async throws {
        let python = try #require(Self.python)
        try await GatewayUnderTest.with { test in
            let process = try await test.start()
            let client = APIClient(baseURL: process.baseURL, key: test.keys.client)
            let (one, two) = (
                try await client.register(deviceToken: "01"), try await client.register(deviceToken: "02")
            )
            _ = try await client.post(
                "/iid/v1:batchAdd", #"{"to":"/topics/news","registration_tokens":["\#(one)","\#(two)"]}"#)
            let run = try await ChildProcess.run(
                python, ["-c", Self.script, process.baseURL, test.keys.sender, one, two], keepsErrors: true)
            #expect(run.status == 0, "\(run.lines)")
            let answers = try run.lines.filter { $0.hasPrefix("{") }.map { line in
                try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
            }
            try #require(answers.count == 9, "\(run.lines)")
            #expect(answers.map { $0["success"] as? Int } == [1, 2, 1, 1, 1, 1, 0, nil, nil])
            #expect(answers.map { $0["failure"] as? Int } == [0, 1, 0, 0, 0, 0, 1, nil, nil])
            let results = try #require(answers[1]["results"] as? [[String: String]])
            #expect(results.map { $0["error"] } == [nil, "NotRegistered", nil])
            #expect((answers[6]["results"] as? [[String: String]])?.first?["error"] == "InvalidDataKey")
            #expect(answers[7]["raised"] as? String == "InvalidDataError")
            #expect((answers[7]["text"] as? String)?.contains("no_such_key") == true)
            #expect(answers[8]["raised"] as? String == "AuthenticationError")

            // One, two, one; a topic of two and a condition that holds for both.
            await test.simulator.recording.wait(untilCount: 8)
            let pushes = test.simulator.recording.pushes
            #expect(
                pushes.map(\.payload).sorted() == [
                    #"{"a":"1","aps":{"content-available":1},"b":"{\"c\":true}"}"#,
                    #"{"aps":{"alert":{"body":"B","title":"T"},"badge":2,"category":"OPEN","sound":"ping.caf"}}"#,
                    #"{"aps":{"alert":{"body":"to all"}}}"#, #"{"aps":{"alert":{"body":"to all"}}}"#,
                    #"{"aps":{"alert":{"body":"to some"}}}"#, #"{"aps":{"alert":{"body":"to some"}}}"#,
                    #"{"aps":{"alert":{"loc-args":["a","b"],"loc-key":"K"}}}"#,
                    #"{"aps":{"alert":{"loc-args":["a","b"],"loc-key":"K"}}}"#,
                ])
            let first = try #require(pushes.first { $0.payload.contains("ping.caf") })
            #expect(first.headers["apns-collapse-id"] == "score" && first.headers["apns-priority"] == "10")
            let background = try #require(pushes.first { $0.payload.contains("content-available") })
            #expect(background.headers["apns-push-type"] == "background")
            #expect(background.headers["apns-priority"] == "5")

            // The number that a topic answers names its report.
            let number = try #require(answers[3]["topic_message_id"] as? Int)
            let report = try await WholeGatewayTests.completeReport(
                "projects/demo/messages/\(number)", process, test.keys)
            #expect(report["audience"] as? Int == 2)
            #expect(await process.end(with: SIGTERM) == 0)
        }
    }
}
