import JSON
import PushModel

/// One thing that `herald doctor` looked at, and how it found it.
struct Finding: Hashable, Sendable {
    /// How it is.
    enum Grade: String, Sendable {
        /// As it should be.
        case good = "ok"
        /// Works, and should be looked at.
        case warning
        /// Does not work.
        case bad = "failed"
    }

    /// How it is.
    var grade: Grade
    /// What was looked at, in a word or two.
    var subject: String
    /// What was found, and what to do when it is not good.
    var text: String

    /// Describes a finding.
    init(_ grade: Grade, _ subject: String, _ text: String) {
        self.grade = grade
        self.subject = subject
        self.text = text
    }

    /// The finding for scripts.
    var json: JSONValue {
        .object([
            .init("status", .string(grade.rawValue)), .init("subject", .string(subject)), .init("text", .string(text)),
        ])
    }
}
