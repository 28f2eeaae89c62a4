import Hummingbird
import JSON
import Logging
import PushModel
import Store

/// The end of registrations that are in quarantine for long: nothing else removes them.
enum RegistrationPrune {
    /// `{"state": "QUARANTINED", "olderThan": "7776000s", "validateOnly": true}`; answered with how many ended, or would.
    @Sendable static func prune(_ call: ProjectCall) async throws -> Response {
        let body = try await call.json()
        try body.refuseUnknown(except: ["state", "older_than", "validate_only"])
        guard try body.string("state") == "QUARANTINED" else {
            throw FCMError.badRequest("state", "The state must be QUARANTINED: no others are pruned.")
        }
        guard let age = try body.duration("older_than") else {
            throw FCMError.badRequest(
                "older_than", "How long the quarantine must have lasted is missing, as \"7776000s\".")
        }
        let isDryRun = try body.bool("validate_only") ?? false
        let before = call.now + (.zero - age)
        if !isDryRun {
            try await call.audit(.quarantinePruned, call.project.id.rawValue, ["quarantinedBefore": before.rfc3339])
        }
        let count = try await call.services.store.prune(
            quarantinedBefore: before, in: call.project.id, isDryRun: isDryRun, at: call.now)
        if !isDryRun {
            call.logger.notice(
                "quarantined registrations pruned", metadata: ["project": "\(call.project.id)", "count": "\(count)"])
        }
        return Response(json: .object([.init("prunedCount", .integer(count))]))
    }
}
