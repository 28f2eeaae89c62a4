import Foundation
import JSON
import PushModel
import Synchronization
import TestSupport
import Testing

@testable import FCMRelay
@testable import HTTP2Client
@testable import Upstream

/// Pushes to Google, over a transport in memory.
@Suite(.timeLimit(.minutes(5)))
struct FCMRelaySenderTests {
    private static func error(_ status: Int, _ name: String, code: String? = nil, headers: [HeaderField] = [])
        -> Exchange
    {
        let detail =
            code.map { #"{"@type":"type.googleapis.com/google.firebase.fcm.v1.FcmError","errorCode":"\#($0)"}"# } ?? ""
        return FakeGoogle.answer(
            status, #"{"error":{"code":\#(status),"status":"\#(name)","message":"","details":[\#(detail)]}}"#,
            headers: headers)
    }

    @Test func messagesCarryTheAccessTokenAndBringGooglesName() async throws {
        let rig = try SenderRig()
        let reports = await rig.reports([try Sample.push(1), try Sample.push(2)])
        #expect(reports.map(\.outcome) == [.accepted, .accepted])
        #expect(reports.map(\.upstreamID) == ["0:1%1", "0:1%1"])
        #expect(rig.google.messages.map(\.authorization) == ["Bearer token-1", "Bearer token-1"])
        #expect(rig.google.messages.map(\.path).allSatisfy { $0 == "/v1/projects/upstream-1/messages:send" })
        #expect(rig.google.tokenRequests == 1)
    }

    @Test func connectionsKeepToGooglesLimits() async throws {
        let rig = try SenderRig()
        _ = await rig.outcomes([try Sample.push()])
        let pools = rig.google.state.withLock { $0.pools }.filter { $0.host == "fcm.googleapis.com" }
        #expect(!pools.isEmpty && pools.allSatisfy { $0.streamLimit == 100 && $0.pingInterval == .seconds(60) })
    }

    @Test func manyWhoNeedATokenAskOnce() async throws {
        let rig = try SenderRig()
        rig.google.gate.withLock { $0 = [] }
        await withDiscardingTaskGroup { tasks in
            for number in 1...20 as ClosedRange<Int64> {
                tasks.addTask {
                    let push = try? Sample.push(number)
                    #expect(await rig.outcomes([push].compactMap { $0 }) == [.accepted])
                }
            }
            tasks.addTask {
                // The first request is under way: everybody waits for it.
                while true {
                    let held = rig.google.gate.withLock { $0?.first }
                    if let held {
                        rig.google.gate.withLock { $0 = nil }
                        return held()
                    }
                    await Task.yield()
                }
            }
        }
        #expect(rig.google.tokenRequests == 1)
    }

    @Test func aTokenIsRenewedAtThreeQuartersOfItsLife() async throws {
        let rig = try SenderRig()
        _ = await rig.outcomes([try Sample.push()])
        rig.time.advance(by: .seconds(2699))
        _ = await rig.outcomes([try Sample.push()])
        #expect(rig.google.tokenRequests == 1)
        rig.time.advance(by: .seconds(1))
        // This one still goes with the old token, while the new one is asked for.
        _ = await rig.outcomes([try Sample.push()])
        while rig.google.tokenRequests < 2 { await Task.yield() }
        var device: Int64 = 1
        while rig.google.messages.last?.authorization != "Bearer token-2" {
            // Each to another device: of one not so many go within a minute.
            device += 1
            _ = await rig.outcomes([try Sample.push(device)])
        }
        #expect(rig.google.tokenRequests == 2)
    }

    @Test func theOldTokenServesUntilItEndsWhileNoneIsGiven() async throws {
        let rig = try SenderRig()
        _ = await rig.outcomes([try Sample.push()])
        rig.google.state.withLock { $0.token = { _ in FakeGoogle.answer(503, "") } }
        rig.time.advance(by: .seconds(3599))
        #expect(await rig.outcomes([try Sample.push()]) == [.accepted])
        while rig.google.tokenRequests < 2 { await Task.yield() }
        rig.time.advance(by: .seconds(10))
        // One or two requests have failed by now: the background's may have ended before or after the step of the clock.
        guard case .throttled(let refusal, let after?) = try #require(await rig.outcomes([try Sample.push()]).first)
        else {
            Issue.record("pushes go without a token")
            return
        }
        #expect(refusal == FCMRelayReasonTable.refusal(.tokenUnavailable))
        #expect(after == .seconds(1) || after == .seconds(2))
        #expect(rig.sender.heldRoutes[Sample.route] == HeldRoute(retryAfter: after, limit: 1, isOfCredential: true))
        rig.google.state.withLock { $0.token = { FakeGoogle.granted("late-\($0)") } }
        rig.time.advance(by: .seconds(2))
        #expect(await rig.outcomes([try Sample.push()]) == [.accepted])
        #expect(rig.sender.heldRoutes.isEmpty)
    }

    @Test(arguments: [
        (400, #"{"error":"invalid_grant","error_description":"Invalid JWT Signature."}"#, "ACCESS_TOKEN_REFUSED"),
        (401, #"{"error":"invalid_client","error_description":"gone"}"#, "ACCESS_TOKEN_REFUSED"),
        (
            400,
            #"{"error":"invalid_grant","error_description":"Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe."}"#,
            "CLOCK_SKEW"
        ),
    ])
    func aRefusedAccountParksItsPushes(status: Int, body: String, reason: String) async throws {
        let rig = try SenderRig()
        let changes = Mutex(0)
        rig.sender.onHeldRoutesChange { changes.withLock { $0 += 1 } }
        let date = HeaderField("date", "Tue, 14 Nov 2023 22:00:20 GMT")
        rig.google.state.withLock { $0.token = { _ in FakeGoogle.answer(status, body, headers: [date]) } }
        let reports = await rig.reports([try Sample.push(1), try Sample.push(2)])
        for report in reports {
            guard case .throttled(let refusal, after: .seconds(60)) = report.outcome else {
                Issue.record("\(report.outcome)")
                continue
            }
            #expect(refusal.reason.rawValue == reason && refusal.scope == .credential && !report.isAttempt)
        }
        #expect(rig.google.messages.isEmpty)
        #expect(changes.withLock { $0 } >= 1)
        let status = try #require(rig.sender.upstreams.first)
        #expect(status.pauses.map(\.reason.rawValue) == [reason])
        if reason == "CLOCK_SKEW" { #expect(status.lastFailure?.contains("780 s ahead") == true) }
        // No token is asked for before the wait is over.
        _ = await rig.outcomes([try Sample.push(1)])
        #expect(rig.google.tokenRequests == 1)
    }

    /// 401: a new token and a second try; then the account is what is wrong.
    @Test func whatIsUnauthenticatedGetsANewTokenOnce() async throws {
        let rig = try SenderRig()
        _ = await rig.outcomes([try Sample.push()])
        rig.time.advance(by: .seconds(120))
        rig.google.state.withLock { $0.message = { _ in Self.error(401, "UNAUTHENTICATED") } }
        let refused = FCMRelayReasonTable.refusal(.unauthenticated)
        #expect(await rig.outcomes([try Sample.push()]) == [.throttled(refused, after: nil)])
        #expect(rig.sender.heldRoutes[Sample.route] == nil)
        #expect(await rig.outcomes([try Sample.push()]) == [.throttled(refused, after: nil)])
        #expect(rig.google.messages.last?.authorization == "Bearer token-2")
        #expect(rig.sender.heldRoutes[Sample.route] != nil)
        #expect(rig.sender.upstreams.first?.pauses.map(\.reason) == [.unauthenticated])
    }

    @Test func aRefusedPermissionParksAndEndsNothing() async throws {
        let rig = try SenderRig()
        rig.google.state.withLock { $0.message = { _ in Self.error(403, "PERMISSION_DENIED") } }
        #expect(
            await rig.outcomes([try Sample.push()])
                == [.throttled(FCMRelayReasonTable.refusal(.permissionDenied), after: nil)])
        let next = await rig.reports([try Sample.push(2)])
        #expect(next.map(\.isAttempt) == [false])
        #expect(rig.google.messages.count == 1)
    }

    @Test func googlesWaitsAreKept() async throws {
        let rig = try SenderRig()
        rig.google.state.withLock { $0.message = { _ in Self.error(500, "INTERNAL", code: "INTERNAL") } }
        #expect(
            await rig.outcomes([try Sample.push()])
                == [.throttled(FCMRelayReasonTable.refusal(.internalError), after: nil)])
        // One message that Google fails at slows nothing down.
        rig.google.state.withLock { $0.message = { _ in FakeGoogle.answer(200, "{}") } }
        #expect(await rig.outcomes([try Sample.push(2)]) == [.accepted])
        let retryAfter = HeaderField("retry-after", "7")
        rig.google.state.withLock {
            $0.message = { _ in Self.error(503, "UNAVAILABLE", code: "UNAVAILABLE", headers: [retryAfter]) }
        }
        #expect(
            await rig.outcomes([try Sample.push(3)])
                == [.throttled(FCMRelayReasonTable.refusal(.unavailable), after: .seconds(7))])
        #expect(await rig.reports([try Sample.push(4)]).map(\.isAttempt) == [false])
        rig.time.advance(by: .seconds(7))
        rig.google.state.withLock { $0.message = { _ in FakeGoogle.answer(200, "{}") } }
        #expect(await rig.outcomes([try Sample.push(4)]) == [.accepted])
    }

    @Test func aBusyDeviceWaitsAloneForAMinute() async throws {
        let rig = try SenderRig()
        rig.google.state.withLock {
            $0.message = { seen in
                guard String(decoding: seen.body, as: UTF8.self).contains("device-1:") else {
                    return FakeGoogle.answer(200, "{}")
                }
                return FakeGoogle.answer(
                    429,
                    #"{"error":{"status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.firebase.fcm.v1.FcmError","errorCode":"QUOTA_EXCEEDED"},{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"subject":"device:1"}]}]}}"#
                )
            }
        }
        let busy = FCMRelayReasonTable.refusal(.deviceQuotaExceeded)
        #expect(
            await rig.outcomes([try Sample.push(1), try Sample.push(2)])
                == [.throttled(busy, after: nil), .accepted])
        #expect(await rig.reports([try Sample.push(1), try Sample.push(2)]).map(\.isAttempt) == [false, true])
        rig.time.advance(by: .seconds(60))
        rig.google.state.withLock { $0.message = { _ in FakeGoogle.answer(200, "{}") } }
        #expect(await rig.outcomes([try Sample.push(1)]) == [.accepted])
    }

    /// Google takes 240 messages a minute for one device: what is beyond costs no quota, and counts as no attempt.
    @Test func whatADeviceGetsBeyondGooglesLimitWaitsHere() async throws {
        let rig = try SenderRig()
        rig.google.state.withLock { $0.message = { _ in FakeGoogle.answer(200, "{}") } }
        let push = try Sample.push(1)
        let reports = await rig.reports([Push](repeating: push, count: 250))
        let held = reports.filter { $0.outcome != .accepted }
        #expect(held.count == 10 && rig.google.messages.count == 240)
        let busy = FCMRelayReasonTable.refusal(.deviceQuotaExceeded)
        #expect(held.allSatisfy { !$0.isAttempt && $0.outcome == .throttled(busy, after: .seconds(60)) })
        #expect(await rig.outcomes([try Sample.push(2)]) == [.accepted])
        rig.time.advance(by: .seconds(60))
        #expect(await rig.outcomes([push]) == [.accepted])
    }

    private static func isOf(_ number: Int, _ seen: FakeGoogle.Seen) -> Bool {
        String(decoding: seen.body, as: UTF8.self).contains("device-\(number):")
    }

    private static let mismatch = FCMRelayReasonTable.refusal(.senderMismatch)

    /// The wrong service account: every token is of another project.
    @Test func anAccountThatNoTokenBelongsToParksAndEndsNothing() async throws {
        let rig = try SenderRig()
        rig.google.state.withLock {
            $0.message = { _ in Self.error(403, "PERMISSION_DENIED", code: "SENDER_ID_MISMATCH") }
        }
        let notHeldAgainst = Outcome.rejected(Refusal(.senderMismatch, .push(.address)))
        let parked = Outcome.throttled(Refusal(.senderMismatch, .credential), after: nil)
        #expect(
            await rig.outcomes([try Sample.push(1), try Sample.push(2)]) == [notHeldAgainst, notHeldAgainst])
        #expect(await rig.outcomes([try Sample.push(1)]) == [parked])
        #expect(await rig.reports([try Sample.push(3)]).map(\.isAttempt) == [false])
        #expect(rig.sender.upstreams.first?.pauses.map(\.reason) == [.senderMismatch])
        rig.time.advance(by: .seconds(30))
        rig.google.state.withLock { $0.message = { _ in FakeGoogle.answer(200, "{}") } }
        #expect(await rig.outcomes([try Sample.push(1)]) == [.accepted])
        #expect(await rig.outcomes([try Sample.push(2), try Sample.push(3)]) == [.accepted, .accepted])
    }

    @Test func aTokenOfAnotherProjectIsDoubtfulWithTheSecondAnswer() async throws {
        let rig = try SenderRig()
        rig.google.state.withLock {
            $0.message = { seen in
                Self.isOf(1, seen)
                    ? Self.error(403, "PERMISSION_DENIED", code: "SENDER_ID_MISMATCH") : FakeGoogle.answer(200, "{}")
            }
        }
        #expect(
            await rig.outcomes([try Sample.push(2), try Sample.push(1)])
                == [.accepted, .rejected(Refusal(.senderMismatch, .push(.address)))])
        #expect(await rig.outcomes([try Sample.push(1)]) == [.rejected(Self.mismatch)])
    }

    /// Google has no key for Apple's push service: its tokens wait, and Android's go on.
    @Test func whatGoogleHasNoCredentialForWaitsByItself() async throws {
        let rig = try SenderRig()
        rig.google.state.withLock {
            $0.message = { seen in
                Self.isOf(1, seen)
                    ? Self.error(401, "UNAUTHENTICATED", code: "THIRD_PARTY_AUTH_ERROR") : FakeGoogle.answer(200, "{}")
            }
        }
        let refusal = FCMRelayReasonTable.refusal(.thirdParty)
        #expect(
            await rig.outcomes([try Sample.push(1), try Sample.push(2)]) == [.rejected(refusal), .accepted])
        let next = await rig.reports([try Sample.push(1), try Sample.push(2)])
        #expect(next.map(\.outcome) == [.throttled(refusal, after: .seconds(30)), .accepted])
        #expect(next.map(\.isAttempt) == [false, true] && rig.sender.heldRoutes.isEmpty)
        rig.time.advance(by: .seconds(30))
        rig.google.state.withLock { $0.message = { _ in FakeGoogle.answer(200, "{}") } }
        #expect(await rig.outcomes([try Sample.push(1)]) == [.accepted])
        #expect(await rig.outcomes([try Sample.push(1)]) == [.accepted])
    }

    /// Each of a million refusals would count against the quota.
    @Test func aMessageThatGoogleDoesNotTakeStopsWithTheThirdAnswer() async throws {
        let rig = try SenderRig()
        rig.google.state.withLock {
            $0.message = { _ in Self.error(400, "INVALID_ARGUMENT", code: "INVALID_ARGUMENT") }
        }
        let first = try Sample.push(1)
        let message = (1...10).map { number in
            Push(
                route: first.route, lane: first.lane,
                address: .android(AndroidToken(rawValue: "device-\(number):abcdefgh")!), isProven: true,
                content: first.content, payload: first.payload, id: first.id)
        }
        let refused = Outcome.rejected(FCMRelayReasonTable.refusal(.invalidArgument))
        for push in message { #expect(await rig.outcomes([push]) == [refused]) }
        #expect(rig.google.messages.count == 3)
        // Another message is another matter, and one of which something was accepted goes on.
        rig.google.state.withLock {
            $0.message = { seen in
                Self.isOf(1, seen)
                    ? FakeGoogle.answer(200, "{}") : Self.error(400, "INVALID_ARGUMENT", code: "INVALID_ARGUMENT")
            }
        }
        let second = try Sample.push(1)
        let other = message.map {
            Push(
                route: $0.route, lane: $0.lane, address: $0.address, isProven: true, content: second.content,
                payload: second.payload, id: $0.id)
        }
        #expect(await rig.outcomes([other[0]]) == [.accepted])
        for push in other.dropFirst() { #expect(await rig.outcomes([push]) == [refused]) }
        #expect(rig.google.messages.count == 13)
    }

    @Test(arguments: [
        (429, "project:demo", Reason.quotaExceeded, false), (429, "", .quotaExceeded, false),
        (429, "device:1", .deviceQuotaExceeded, true), (429, "topic:x", .topicQuotaExceeded, true),
    ])
    func aQuotaSlowsWhatItIsOf(status: Int, subject: String, reason: Reason, goesOn: Bool) async throws {
        let rig = try SenderRig(maxPerSecond: 1000)
        rig.google.state.withLock {
            $0.message = { seen in
                guard Self.isOf(1, seen) else { return FakeGoogle.answer(200, "{}") }
                return FakeGoogle.answer(
                    status,
                    #"{"error":{"status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.firebase.fcm.v1.FcmError","errorCode":"QUOTA_EXCEEDED"},{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"subject":"\#(subject)"}]}]}}"#,
                    headers: goesOn ? [] : [HeaderField("retry-after", "9")])
            }
        }
        let refusal = FCMRelayReasonTable.refusal(reason)
        #expect(refusal.firstWait == .seconds(60))
        #expect(
            await rig.outcomes([try Sample.push(1)]) == [.throttled(refusal, after: goesOn ? nil : .seconds(9))])
        #expect(await rig.reports([try Sample.push(2)]).map(\.isAttempt) == [goesOn])
    }

    @Test func aGatewayOfGooglesThatFailsIsTriedAgain() async throws {
        let rig = try SenderRig()
        let unavailable = FCMRelayReasonTable.refusal(.unavailable)
        #expect(unavailable.firstWait == .seconds(10))
        for status in [502, 504] {
            rig.google.state.withLock { $0.message = { _ in FakeGoogle.answer(status, "<html>") } }
            #expect(await rig.outcomes([try Sample.push(1)]) == [.throttled(unavailable, after: nil)])
        }
        rig.google.state.withLock { $0.message = { _ in .unanswered(TransportFailure(.reset, "reset")) } }
        #expect(await rig.outcomes([try Sample.push(2)]) == [.unknown(.reset)])
    }

    @Test func accountsKeepTheirTokensWhenAppsChange() async throws {
        let rig = try SenderRig()
        _ = await rig.outcomes([try Sample.push()])
        let other = AppID(rawValue: "com.example.other")!
        try rig.sender.use(
            [Sample.app, other].map {
                FCMRelayAppConfiguration(
                    project: Sample.project, app: $0, account: try Sample.account(), maxPerSecond: 0)
            })
        #expect(await rig.outcomes([try Sample.push(2, app: other)]) == [.accepted])
        #expect(rig.google.tokenRequests == 1)
        try rig.sender.use([])
        #expect(await rig.outcomes([try Sample.push()]) == [.notSent(.noRoute)])
    }

    @Test(arguments: [
        ["type": "authorized_user"], ["private_key": "none"], ["token_uri": "http://oauth2.example.com/token"],
        ["client_email": ""], ["project_id": "a/../b"],
    ])
    func aKeyFileIsRefusedByName(changes: [String: String]) throws {
        let error = #expect(throws: ServiceAccountError.self) { try Sample.account(changes) }
        #expect(changes.keys.allSatisfy { error?.message.contains($0) == true })
    }
}
