import FCMWire
import JSON
import PushModel
import TestSupport
import Testing
import Upstream

@testable import FCMRelay

/// Google's answers, by the table of fcm-relay.md §4.
struct FCMRelayReasonTests {
    /// An answer and what it means.
    struct Case: Sendable, CustomStringConvertible {
        let status: Int
        let body: String
        let reason: Reason
        let scope: Refusal.Scope

        var description: String { "\(status) \(reason)" }
    }

    private static let fcmError = #""@type":"type.googleapis.com/google.firebase.fcm.v1.FcmError""#

    private static func body(_ status: String, code: String? = nil, message: String = "", _ more: String...) -> String {
        let details = more + (code.map { [#"{\#(fcmError),"errorCode":"\#($0)"}"#] } ?? [])
        return
            #"{"error":{"status":"\#(status)","message":"\#(message)","details":[\#(details.joined(separator: ","))]}}"#
    }

    private static func violation(_ field: String) -> String {
        #"{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":"\#(field)"}]}"#
    }

    private static func quota(_ subject: String) -> String {
        #"{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"subject":"\#(subject)"}]}"#
    }

    static let cases = [
        Case(
            status: 404, body: body("NOT_FOUND", code: "UNREGISTERED"), reason: .unregistered,
            scope: .addressDead(since: nil)),
        Case(
            status: 400, body: body("INVALID_ARGUMENT", code: "INVALID_ARGUMENT", violation("message.token")),
            reason: .invalidToken, scope: .addressDoubtful),
        Case(
            status: 400,
            body: body(
                "INVALID_ARGUMENT", code: "INVALID_ARGUMENT",
                message: "The registration token is not a valid FCM registration token"),
            reason: .invalidToken, scope: .addressDoubtful),
        Case(
            status: 400,
            body: body("INVALID_ARGUMENT", code: "INVALID_ARGUMENT", message: "Android message is too big"),
            reason: .invalidArgument, scope: .push(.payload)),
        Case(
            status: 400, body: body("INVALID_ARGUMENT", violation("message.data[0].value")),
            reason: .invalidArgument, scope: .push(.payload)),
        Case(
            status: 401, body: body("UNAUTHENTICATED"), reason: .unauthenticated,
            scope: .connection(.tokenExpired)),
        Case(
            status: 401, body: body("UNAUTHENTICATED", code: "THIRD_PARTY_AUTH_ERROR"), reason: .thirdParty,
            scope: .topic),
        Case(
            status: 403, body: body("PERMISSION_DENIED", code: "SENDER_ID_MISMATCH"), reason: .senderMismatch,
            scope: .addressDoubtful),
        Case(status: 403, body: body("PERMISSION_DENIED"), reason: .permissionDenied, scope: .credential),
        Case(
            status: 403,
            body: body(
                "PERMISSION_DENIED",
                #"{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"SERVICE_DISABLED"}"#),
            reason: .permissionDenied, scope: .credential),
        Case(status: 404, body: "<!DOCTYPE html><title>404</title>", reason: .notFound, scope: .credential),
        Case(status: 404, body: body("NOT_FOUND"), reason: .notFound, scope: .credential),
        Case(
            status: 429, body: body("RESOURCE_EXHAUSTED", code: "QUOTA_EXCEEDED", quota("project:demo")),
            reason: .quotaExceeded, scope: .load(.service)),
        Case(
            status: 429, body: body("RESOURCE_EXHAUSTED", code: "QUOTA_EXCEEDED", quota("device:abc")),
            reason: .deviceQuotaExceeded, scope: .load(.address)),
        Case(
            status: 429, body: body("RESOURCE_EXHAUSTED", code: "QUOTA_EXCEEDED", message: "Topic quota exceeded."),
            reason: .topicQuotaExceeded, scope: .load(.unspecified)),
        Case(status: 500, body: body("INTERNAL", code: "INTERNAL"), reason: .internalError, scope: .load(.unspecified)),
        Case(status: 503, body: body("UNAVAILABLE", code: "UNAVAILABLE"), reason: .unavailable, scope: .load(.service)),
        Case(status: 503, body: "", reason: .unavailable, scope: .load(.service)),
        Case(status: 502, body: "<html>", reason: .unavailable, scope: .load(.service)),
        Case(status: 504, body: "", reason: .unavailable, scope: .load(.service)),
        Case(status: 413, body: "", reason: .tooLarge, scope: .push(.payloadSize)),
        Case(status: 408, body: "", reason: .internalError, scope: .load(.unspecified)),
        Case(status: 409, body: body("ABORTED"), reason: .internalError, scope: .load(.unspecified)),
        Case(status: 421, body: "", reason: .internalError, scope: .load(.unspecified)),
        Case(status: 425, body: "", reason: .internalError, scope: .load(.unspecified)),
        Case(status: 499, body: body("CANCELLED"), reason: .internalError, scope: .load(.unspecified)),
        Case(status: 418, body: "", reason: "HTTP418", scope: .push(.unspecified)),
        Case(status: 302, body: "", reason: "HTTP302", scope: .connection(.misdirected)),
    ]

    @Test(arguments: cases)
    func theTableDecides(example: Case) {
        let refusal = FCMRelayReasonTable.refusal(
            status: example.status, body: Array(example.body.utf8), isOfDevice: { false })
        #expect(refusal.reason == example.reason && refusal.scope == example.scope)
    }

    /// Google's clients read the first detail; the code may stand behind others.
    @Test func theErrorCodeIsFoundAnywhere() {
        let body = Self.body("NOT_FOUND", code: "UNREGISTERED", Self.violation("x"), Self.quota("y"))
        let refusal = FCMRelayReasonTable.refusal(status: 404, body: Array(body.utf8), isOfDevice: { false })
        #expect(refusal.reason == .unregistered)
    }

    @Test func aQuotaWithoutSubjectIsOfTheDeviceWhileFewAreRefused() {
        let time = TestTime()
        let watch = QuotaWatch(uptime: time.uptime)
        watch.sent(1000)
        for _ in 0..<9 { #expect(watch.isOfDevice()) }
        #expect(!watch.isOfDevice())
        time.advance(by: .seconds(2))
        watch.sent(101)
        #expect(watch.isOfDevice())
    }

    @Test func everyReasonHasOneRowAndAMeaning() {
        #expect(Set(FCMRelayReasonTable.rows.map(\.reason)).count == FCMRelayReasonTable.rows.count)
        #expect(FCMRelayReasonTable.rows.allSatisfy { $0.meaning.hasSuffix(".") })
    }

    /// A broken service account must never look like dead devices.
    @Test func whatIsAboutTheAccountEndsNoRegistration() {
        let ofAccount: Set<Reason> = [
            .unauthenticated, .permissionDenied, .notFound, .tokenRefused, .clockSkew,
        ]
        #expect(Set(FCMRelayReasonTable.rows.filter(\.scope.isAboutCredential).map(\.reason)) == ofAccount)
        #expect(ofAccount.allSatisfy { !FCMRelayReasonTable.refusal($0).scope.isFinal })
    }

    /// Bodies that are cut off, damaged or of another form are read without a trap.
    @Test func damagedBodiesAreNoTrouble() {
        var random = SeededRandom(seed: 14)
        let bodies = Self.cases.map { Array($0.body.utf8) }
        for _ in 0..<3000 {
            var body = bodies[Int.random(in: 0..<bodies.count, using: &random)]
            if !body.isEmpty {
                for _ in 0..<3 {
                    body[Int.random(in: 0..<body.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
                }
                body = Array(body.prefix(Int.random(in: 0...body.count, using: &random)))
            }
            let status = [400, 401, 403, 404, 429, 500, 503].randomElement(using: &random) ?? 400
            let refusal = FCMRelayReasonTable.refusal(status: status, body: body, isOfDevice: { false })
            // Only what says UNREGISTERED ends a registration.
            if case .addressDead = refusal.scope {
                #expect(String(decoding: body, as: UTF8.self).contains("UNREGISTERED"))
            }
        }
    }
}
