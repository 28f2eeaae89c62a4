/// How a link is read and decided. URLs are shown as text: nothing here can be clicked.
package struct DebugPage: Hashable, Sendable {
    /// A parameter of the link.
    package struct Parameter: Hashable, Sendable {
        let name: String
        let meaning: String?
        let value: String

        /// - Parameters:
        ///   - name: as in the query.
        ///   - meaning: in words.
        ///   - value: decoded.
        package init(name: String, meaning: String? = nil, value: String) {
            self.name = name
            self.meaning = meaning
            self.value = value
        }
    }

    /// Something odd in the link.
    package struct Warning: Hashable, Sendable {
        let code: String
        let message: String

        /// - Parameters:
        ///   - code: of the 30 of the API.
        ///   - message: what to do about it.
        package init(code: String, message: String) {
            self.code = code
            self.message = message
        }
    }

    /// One question on the way to a decision, and its answer.
    package struct Step: Hashable, Sendable {
        let question: String
        let answer: String

        /// Such as `Does the link name an Android app?`, `yes, com.example.app`.
        package init(question: String, answer: String) {
            self.question = question
            self.answer = answer
        }
    }

    /// What one platform gets.
    package struct Branch: Hashable, Sendable {
        let platform: String
        let steps: [Step]
        let outcome: String
        let target: String?

        /// - Parameters:
        ///   - platform: `iPhone`, `Android, Chrome`, …
        ///   - steps: from the first question to the last.
        ///   - outcome: what is answered in the end.
        ///   - target: the URL of it, if it is one.
        package init(platform: String, steps: [Step], outcome: String, target: String? = nil) {
            self.platform = platform
            self.steps = steps
            self.outcome = outcome
            self.target = target
        }
    }

    let shortLink: String?
    let longLink: String
    let parameters: [Parameter]
    let warnings: [Warning]
    let hasWarnings: Bool
    let branches: [Branch]

    /// - Parameters:
    ///   - shortLink: the link that was opened, if it is a short one.
    ///   - longLink: the link with all its parameters.
    package init(
        shortLink: String?, longLink: String, parameters: [Parameter], warnings: [Warning], branches: [Branch]
    ) {
        self.shortLink = shortLink
        self.longLink = longLink
        self.parameters = parameters
        self.warnings = warnings
        hasWarnings = !warnings.isEmpty
        self.branches = branches
    }
}
