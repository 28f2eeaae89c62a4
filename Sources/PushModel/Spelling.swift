/// Finds the word that a misspelt one was meant to be.
package enum Spelling {
    /// Longer words are no misspelt ones: the work grows with the square of the length.
    private static let lengthLimit = 128

    /// The word of `candidates` closest to `word`, when it is close enough to be meant.
    ///
    /// Close enough: two edits, in long words a third of the letters, and always less than half the word.
    package static func closest(to word: String, among candidates: [String]) -> String? {
        guard word.utf8.count <= lengthLimit else { return nil }
        let limit = max(2, word.count / 3)
        return
            candidates
            .filter { abs($0.count - word.count) <= limit }
            .map { (distance: distance(word.lowercased(), $0.lowercased()), candidate: $0) }
            .filter { $0.distance <= limit && $0.distance * 2 < min(word.count, $0.candidate.count) }
            .min { ($0.distance, $0.candidate) < ($1.distance, $1.candidate) }?
            .candidate
    }

    /// How many insertions, deletions, replacements and swaps of neighbours turn `one` into `other` (optimal string
    /// alignment).
    package static func distance(_ one: String, _ other: String) -> Int {
        let source = Array(one)
        let target = Array(other)
        guard !source.isEmpty, !target.isEmpty else { return max(source.count, target.count) }
        var beforeLast: [Int] = []
        var last = Array(0...target.count)
        for row in 1...source.count {
            var current = [row] + Array(repeating: 0, count: target.count)
            for column in 1...target.count {
                let cost = source[row - 1] == target[column - 1] ? 0 : 1
                current[column] = min(last[column] + 1, current[column - 1] + 1, last[column - 1] + cost)
                if row > 1, column > 1, source[row - 1] == target[column - 2], source[row - 2] == target[column - 1] {
                    current[column] = min(current[column], beforeLast[column - 2] + 1)
                }
            }
            beforeLast = last
            last = current
        }
        return last[target.count]
    }
}
