import JSON

/// The place where a page of results ended, as opaque text: the list it belongs to and the last row's number; in lists
/// of ledger entries the block's number and the entry's index in it, in those of pages likewise.
package struct PageCursor: Equatable {
    /// The lists that are paged; a cursor of one is refused by the others.
    package enum List: String, CaseIterable {
        case messages = "m"
        case endedDeliveries = "d"
        case waitingDeliveries = "w"
        case claimedDeliveries = "c"
        case export = "x"
        case registrationDeliveries = "r"
        case registrations = "g"
        case receipts = "e"
        case subscribers = "s"
        case audit = "a"
        case links = "l"
        case channels = "b"
        case webhookAttempts = "h"
        case deadLetters = "z"

        /// Whether its rows are parts of blocks or pages.
        fileprivate var hasIndex: Bool {
            switch self {
            case .endedDeliveries, .claimedDeliveries, .export, .registrationDeliveries: true
            case .messages, .waitingDeliveries, .registrations, .receipts, .subscribers, .audit, .links,
                .channels, .webhookAttempts, .deadLetters:
                false
            }
        }
    }

    package let list: List
    package let last: Int64
    /// The index of the row in block or page `last`; 0 in lists of other rows.
    package let index: Int

    package init(_ list: List, after last: Int64, index: Int = 0) {
        self.list = list
        self.last = last
        self.index = index
    }

    /// Reads a cursor that ``text`` wrote.
    ///
    /// - Throws: `.badCursor` unless it is one, of one of `lists`, to the letter.
    package init(text: String, of lists: List...) throws(StoreError) {
        guard let bytes = Base64URL.bytes(text), let first = bytes.first,
            let list = List(rawValue: String(decoding: [first], as: UTF8.self)), lists.contains(list)
        else { throw Self.bad }
        let numbers = bytes.dropFirst().split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
            .map { Int64(String(decoding: $0, as: UTF8.self)) ?? -1 }
        guard numbers.count == (list.hasIndex ? 2 : 1), numbers.allSatisfy({ $0 >= 0 }) else { throw Self.bad }
        self.init(list, after: numbers[0], index: list.hasIndex ? Int(numbers[1]) : 0)
        guard self.text == text else { throw Self.bad }
    }

    private static var bad: StoreError {
        StoreError(.badCursor, "The page token is not one that this list gave out.")
    }

    /// What callers get.
    package var text: String {
        Base64URL.text((list.hasIndex ? "\(list.rawValue)\(last).\(index)" : "\(list.rawValue)\(last)").utf8)
    }
}
