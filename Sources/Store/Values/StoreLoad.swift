package import PushModel

/// What is accepted and not complete: held against the limits of accept.
package struct StoreLoad: Hashable, Sendable {
    /// Messages and the bytes of their content.
    package struct Sum: Hashable, Sendable {
        /// Messages that are not complete.
        package var messages: Int
        /// Bytes of their content, as stored, and of their lists of recipients.
        package var bytes: Int

        /// Puts a sum together.
        package init(messages: Int = 0, bytes: Int = 0) {
            self.messages = messages
            self.bytes = bytes
        }
    }

    /// Of all projects.
    package var total: Sum
    /// By project; who has none is left out.
    package var byProject: [ProjectID: Sum]

    /// Puts a load together.
    package init(total: Sum = Sum(), byProject: [ProjectID: Sum] = [:]) {
        self.total = total
        self.byProject = byProject
    }
}
