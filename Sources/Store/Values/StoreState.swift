/// How a store is.
package struct StoreState: Hashable, Sendable {
    /// Whether a write goes through.
    package var isWritable = true
    /// What is wrong, a sentence each; empty when all is well.
    package var problems: [String] = []

    /// A store that is well, or has problems.
    package init(isWritable: Bool = true, problems: [String] = []) {
        self.isWritable = isWritable
        self.problems = problems
    }
}
