import ArgumentParser
import Foundation
import PushModel
import Store

/// How a file of registrations is written.
enum RegistrationFormat: String, CaseIterable, ExpressibleByArgument {
    /// One JSON object a line.
    case ndjson
    /// RFC 4180 with a header line; topics in one field, with spaces between.
    case csv

    /// The format that a file's name says.
    init?(path: String) {
        switch path.split(separator: ".").last?.lowercased() {
        case "csv": self = .csv
        case "ndjson", "jsonl", "json": self = .ndjson
        default: return nil
        }
    }
}

/// The columns of a file of registrations, in the order in which they are written.
enum RegistrationColumn: String, CaseIterable {
    case fid
    case token
    case deviceToken = "device_token"
    case fcmToken = "fcm_token"
    case relayed
    case endpoint
    case p256dh
    case auth
    case applicationKey = "application_key"
    case app
    case environment
    case user
    case appVersion = "app_version"
    case topics
    case createdAt = "created_at"
    case refreshedAt = "refreshed_at"
    case provenAt = "proven_at"
    case quarantinedAt = "quarantined_at"
    case quarantineReason = "quarantine_reason"
}

/// A mistake in one line.
struct LineProblem: Error, Hashable {
    /// The column; `nil`: the line itself.
    var column: String?
    /// Why.
    var reason: String
    /// Whether the line can be read and only its registration can't be taken: others may bring that about, such as an app
    /// install that has the FID already, so it never keeps the other lines out.
    var isOfRegistration = false

    /// The problem as people read it.
    func text(line: Int64) -> String {
        column.map { "line \(line), column \($0): \(reason)" } ?? "line \(line): \(reason)"
    }
}

extension ImportRefusal {
    /// The problem at the column that says it.
    var problem: LineProblem {
        var problem = statement
        problem.isOfRegistration = true
        return problem
    }

    private var statement: LineProblem {
        switch self {
        case .idTaken:
            LineProblem(
                column: "fid",
                reason: "belongs to another device, to another app, to an installation, or to a registration that ended"
            )
        case .otherID(let id):
            LineProblem(column: "device_token", reason: "is registered already, with the installation id \(id)")
        case .otherToken:
            LineProblem(column: "token", reason: "is not the registration token that this installation id has")
        case .tokenTaken: LineProblem(column: "token", reason: "belongs to another device")
        case .otherUser:
            LineProblem(
                column: "user",
                reason:
                    "is not the user of this device; another user gets another registration: leave fid and token out")
        case .tooManyTopics:
            LineProblem(
                column: "topics", reason: "a registration may have \(Topic.limitPerRegistration) topics at most")
        }
    }
}
