/// Which topics the clients of a project may make: their keys are in every app, and so in everybody's hands. Topics that are
/// there already they may subscribe to, and servers make any topic.
package struct TopicPolicy: Hashable, Sendable {
    /// A client makes no topic once the project has so many.
    package var clientLimit: Int
    /// The names that clients may make; `nil`: any.
    package var clientPattern: TopicPattern?

    /// ``clientLimit`` of a project that says nothing.
    package static let usualLimit = 10_000

    /// Puts a policy together.
    package init(clientLimit: Int = TopicPolicy.usualLimit, clientPattern: TopicPattern? = nil) {
        self.clientLimit = clientLimit
        self.clientPattern = clientPattern
    }

    /// Whether clients may make a topic of this name.
    package func allows(_ topic: Topic) -> Bool { clientPattern?.matches(topic) ?? true }

    /// How many topics the project may have for a client to make this one; 0: it may never.
    package func limit(making topic: Topic) -> Int {
        allows(topic) ? clientLimit : 0
    }
}

/// A topic's name with `*` for any number of characters, as in `news-*`. No regular expression: matching takes time in
/// proportion to the name, whatever it is.
package struct TopicPattern: TextIdentifier {
    /// The pattern.
    package let rawValue: String
    private let parts: [Part]

    /// What ``init(rawValue:)`` takes, for the texts of errors.
    package static let expectation = "1 to 900 of [a-zA-Z0-9-_.~%] and *"

    /// A text between two `*`.
    private struct Part: Hashable, Sendable {
        let bytes: [UInt8]
        /// For each place the length of the longest proper prefix that ends there too (Knuth, Morris and Pratt).
        let borders: [Int]

        init(_ bytes: some Sequence<UInt8>) {
            self.bytes = Array(bytes)
            var borders = [Int](repeating: 0, count: self.bytes.count)
            var length = 0
            for place in self.bytes.indices.dropFirst() {
                while length > 0, self.bytes[place] != self.bytes[length] { length = borders[length - 1] }
                if self.bytes[place] == self.bytes[length] { length += 1 }
                borders[place] = length
            }
            self.borders = borders
        }

        /// What comes behind the first place where the part stands in `text`; `nil`: it does not.
        func rest(of text: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
            guard !bytes.isEmpty else { return text }
            var length = 0
            for place in text.indices {
                while length > 0, text[place] != bytes[length] { length = borders[length - 1] }
                if text[place] == bytes[length] { length += 1 }
                if length == bytes.count { return text[(place + 1)...] }
            }
            return nil
        }
    }

    /// Takes `rawValue` when it has the form of a pattern.
    package init?(rawValue: String) {
        guard rawValue.isMade(of: "-_.~%*", upTo: 900) else { return nil }
        self.rawValue = rawValue
        parts = rawValue.utf8.split(separator: UInt8(ascii: "*"), omittingEmptySubsequences: false).map { Part($0) }
    }

    /// Whether the whole name fits.
    package func matches(_ topic: Topic) -> Bool {
        let name = Array(topic.rawValue.utf8)
        guard let first = parts.first, let last = parts.last, parts.count > 1 else {
            return topic.rawValue == rawValue
        }
        guard name.count >= first.bytes.count + last.bytes.count, name.starts(with: first.bytes),
            name.suffix(last.bytes.count).elementsEqual(last.bytes)
        else { return false }
        // Of each part between the first place is the best: it leaves most to the others.
        var rest = name[first.bytes.count..<(name.count - last.bytes.count)]
        for part in parts.dropFirst().dropLast() {
            guard let behind = part.rest(of: rest) else { return false }
            rest = behind
        }
        return true
    }
}
