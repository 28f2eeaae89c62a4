import PushModel

/// The place where a page of results ended, as opaque text: the list it belongs to and the last row's number.
struct PageCursor: Equatable {
    /// The lists that are paged; a cursor of one is refused by the others.
    enum List: String {
        case messages = "m"
        case endedDeliveries = "d"
        case waitingDeliveries = "w"
        case export = "x"
    }

    let list: List
    let last: Int64

    init(_ list: List, after last: Int64) {
        self.list = list
        self.last = last
    }

    /// Reads a cursor that ``text`` wrote.
    ///
    /// - Throws: `.badCursor` unless it is one, of one of `lists`, to the letter.
    init(text: String, of lists: List...) throws(StoreError) {
        guard let bytes = Base64URL.bytes(text), let first = bytes.first,
            let list = List(rawValue: String(decoding: [first], as: UTF8.self)), lists.contains(list),
            let last = Int64(String(decoding: bytes.dropFirst(), as: UTF8.self)), last >= 0
        else { throw StoreError(.badCursor, "The page token is not one that this list gave out.") }
        self.init(list, after: last)
        guard self.text == text else {
            throw StoreError(.badCursor, "The page token is not one that this list gave out.")
        }
    }

    /// What callers get.
    var text: String { Base64URL.text("\(list.rawValue)\(last)".utf8) }
}
