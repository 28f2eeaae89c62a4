/// Where a configured value was written, so that a message can point at it.
struct ConfigurationPlace: Hashable, Sendable, CustomStringConvertible {
    /// The file as the operator named it, or the name of an environment variable.
    var source: String
    /// The line, from 1; `nil` when the problem is the file itself or a variable.
    var line: Int?

    /// `file:line` or `file`.
    var description: String {
        line.map { "\(source):\($0)" } ?? source
    }
}

/// One thing that is wrong with the configuration, told in one line: where, which field, what, and the way out.
struct ConfigurationProblem: Hashable, Sendable, CustomStringConvertible {
    /// Where it stands.
    var place: ConfigurationPlace
    /// The path of the field, such as `apps[0].apns.team`; `nil` when the file as a whole is meant.
    var field: String?
    /// The mistake and the remedy.
    var text: String

    /// Describes a problem.
    init(_ place: ConfigurationPlace, field: String? = nil, _ text: String) {
        self.place = place
        self.field = field
        self.text = text
    }

    /// `file:line: field: text`.
    var description: String {
        [place.description, field, text].compactMap { $0 }.joined(separator: ": ")
    }
}

/// A configuration that can't be used: all problems that were found, at least one.
struct ConfigurationError: Error, Hashable, CustomStringConvertible {
    /// The problems in the order of files and lines.
    let problems: [ConfigurationProblem]

    /// One line for each problem.
    var description: String {
        problems.map(\.description).joined(separator: "\n")
    }

    /// What a command ends with.
    var failure: Failure {
        Failure(.configuration, description)
    }
}

extension [ConfigurationProblem] {
    /// The same problems in the order of files and lines.
    var inOrder: [ConfigurationProblem] {
        enumerated().sorted { one, other in
            let left = (one.element.place.source, one.element.place.line ?? 0, one.offset)
            let right = (other.element.place.source, other.element.place.line ?? 0, other.offset)
            return left < right
        }
        .map(\.element)
    }
}
