import PushModel
import Store

// What a step of settling keeps of what it settles.
extension SettleStep {
    /// A claimed page with what this step settled of it.
    struct OpenPage {
        let id: FanOutPage.ID
        let message: Int
        let keys: [Int64]
        var settled: KeyBitmap
        var open: Int
        /// Where the next settlement is expected: they come in the order of keys, mostly.
        var next = 0
        var isChanged = false

        /// The place of a key.
        mutating func index(of key: Int64) -> Int? {
            if next < keys.count, keys[next] == key {
                next += 1
                return next - 1
            }
            var (low, high) = (0, keys.count)
            while low < high {
                let middle = (low + high) / 2
                if keys[middle] < key { low = middle + 1 } else { high = middle }
            }
            guard low < keys.count, keys[low] == key else { return nil }
            next = low + 1
            return low
        }
    }

    /// What a step needs to know of a message.
    struct OpenMessage {
        let seq: Int64
        let id: MessageID
        let project: ProjectID
        let lane: Lane
        let state: MessageState
        let acceptedAt: Timestamp
        let chosenID: PushID?
        let source: LedgerWriter.Source
        /// What counts against the limits.
        let bytes: Int
        /// Whether it went to one registration.
        let isSingle: Bool
        /// The last end of a delivery in this step.
        var lastEnd: Timestamp?

        /// Reads the columns that ``SettleStep/messageByID`` asks for.
        init(_ row: RawStatement) throws {
            seq = row.number(0)
            id = try MessageID(stored: row.text(1))
            project = try ProjectID(stored: row.text(2))
            lane = Lane(code: Int(row.number(3)))
            state = try MessageState(storedCase: row.text(4))
            acceptedAt = Timestamp(milliseconds: row.number(5))
            chosenID = try row.optionalText(6).map { try PushID(stored: $0) }
            source = LedgerWriter.Source(
                message: seq, project: project,
                kind: DeliveryDaySums.Kind(
                    acceptedAt: acceptedAt.milliseconds, label: row.optionalText(7), isDisplayed: row.number(8) != 0))
            bytes = Int(row.number(9))
            isSingle = row.number(10) != 0
        }

        func pushID(_ key: RegistrationKey) -> PushID { chosenID ?? PushID(message: id, registration: key) }
    }
}
