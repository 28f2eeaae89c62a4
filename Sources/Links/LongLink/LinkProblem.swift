/// Why a link is refused: what was asked for is answered with 400.
package struct LinkProblem: Error, Hashable, Sendable {
    /// The field at fault in REST words, as `dynamicLinkInfo.androidInfo.androidFallbackLink` or `longDynamicLink`.
    package let field: String
    /// The parameter at fault, when it is one.
    package let parameter: LinkParameter?
    /// What is wrong with it: a sentence without the field. It may quote what the caller sent.
    package let message: String

    /// Describes a problem of a field that is no parameter.
    package init(field: String, message: String) {
        self.field = field
        self.parameter = nil
        self.message = message
    }

    /// Describes a problem of a parameter.
    package init(_ parameter: LinkParameter, message: String) {
        self.field = "dynamicLinkInfo." + parameter.restField
        self.parameter = parameter
        self.message = message
    }
}

extension LinkProblem: CustomStringConvertible {
    /// Field, parameter and message in one line.
    package var description: String {
        field + (parameter.map { " (\($0.rawValue))" } ?? "") + ": " + message
    }
}
