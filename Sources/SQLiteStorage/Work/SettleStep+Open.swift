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
        /// The last end of a delivery in this step.
        var lastEnd: Timestamp?

        func pushID(_ key: RegistrationKey) -> PushID { chosenID ?? PushID(message: id, registration: key) }
    }
}
