/// The reasons of push services by their words: for words that come back from the store without their ``Refusal``. Made
/// of the services' tables.
package struct RefusalCatalog: Sendable {
    /// A reason that a table has.
    package struct Entry: Sendable {
        /// The refusal; its time is unknown.
        package let refusal: Refusal
        /// What it means, a sentence for operators.
        package let meaning: String

        /// Describes a reason.
        package init(_ refusal: Refusal, meaning: String) {
            self.refusal = refusal
            self.meaning = meaning
        }
    }

    private let entries: [Reason: Entry]

    /// Puts the entries of one or more services together; of two for one word the first counts.
    package init(_ entries: [Entry]) {
        self.entries = Dictionary(entries.map { ($0.refusal.reason, $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// Puts catalogs together; of two entries for one word the first counts.
    package init(merging catalogs: [RefusalCatalog]) {
        entries = catalogs.reduce(into: [:]) { all, next in all.merge(next.entries) { first, _ in first } }
    }

    /// What is known of a word; `nil`: nothing.
    package subscript(reason: Reason) -> Entry? { entries[reason] }

    /// What is known of a word; `nil`: nothing.
    package subscript(word: String) -> Entry? { entries[Reason(rawValue: word)] }

    /// The value of the label `reason` in metrics for a word.
    package func label(of word: String) -> String { self[word]?.refusal.label ?? Refusal.unknownLabel }
}
