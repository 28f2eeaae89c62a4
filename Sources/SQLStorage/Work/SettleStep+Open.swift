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
        /// The one registration that it goes to.
        let registration: RegistrationKey?
        /// Who has claimed its one delivery, if the message says it.
        var claimant: WorkerID?
        /// Whether that delivery ends with this step.
        var hasEndedClaim = false
        /// The last end of a delivery in this step.
        var lastEnd: Timestamp?

        /// Reads the columns that ``SettleStep/messageByID`` asks for.
        ///
        /// - Parameter known: the id that the row was found by.
        init(_ row: any PreparedStatement, known: MessageID?) throws {
            seq = row.number(0)
            id = try known ?? MessageID(column: row.bytes(1))
            project = try ProjectID(stored: row.text(2))
            lane = Lane(code: Int(row.number(3)))
            state = try MessageState(storedCase: row.text(4))
            acceptedAt = Timestamp(milliseconds: row.number(5))
            chosenID = try row.optionalText(6).map { try PushID(stored: $0) }
            source = LedgerWriter.Source(
                message: seq, project: project,
                kind: DeliveryDaySums.Kind(
                    acceptedAt: acceptedAt.milliseconds, label: row.optionalText(7), isDisplayed: row.number(8) != 0),
                isSingle: !row.isNull(10))
            bytes = Int(row.number(9))
            registration = row.optionalNumber(10).map(RegistrationKey.init)
            claimant = row.optionalNumber(11).map(WorkerID.init)
        }

        func pushID(_ key: RegistrationKey) -> PushID { chosenID ?? PushID(message: id, registration: key) }
    }

    /// The messages of a step, each read once.
    struct OpenMessages {
        private let transaction: WriteTransaction
        private(set) var all: [OpenMessage] = []
        private var places: [Int64: Int] = [:]
        private var placesByID: [MessageID: Int] = [:]

        init(_ transaction: WriteTransaction) {
            self.transaction = transaction
        }

        subscript(place: Int) -> OpenMessage {
            _read { yield all[place] }
            _modify { yield &all[place] }
        }

        /// The place of a message; `nil`: there is none.
        mutating func find(_ id: MessageID) throws -> Int? {
            if let known = placesByID[id] { return known }
            let statement = try transaction.statement(.messageByID, SettleStep.messageByID)
            statement.bind(blob: id.packed)
            return try statement.first { row in try places[row.number(0)] ?? add(row, known: id) }
        }

        /// Reads several that were not read before.
        mutating func read(_ ids: Set<MessageID>) throws {
            let rows = try transaction.db.statement(SettleStep.messagesByID)
            rows.bind(texts: ids.map(\.hexadecimal))
            while try rows.next() { _ = try add(rows, known: nil) }
        }

        /// The place of a message that a row refers to.
        mutating func find(_ seq: Int64) throws -> Int {
            if let known = places[seq] { return known }
            let statement = try transaction.statement(.messageBySeq, SettleStep.messageBySeq)
            statement.bind(seq)
            guard let place = try statement.first({ row in try add(row, known: nil) }) else {
                throw StoreError.invalid("a page")
            }
            return place
        }

        private mutating func add(_ row: any PreparedStatement, known: MessageID?) throws -> Int {
            let message = try OpenMessage(row, known: known)
            all.append(message)
            places[message.seq] = all.count - 1
            placesByID[message.id] = all.count - 1
            return all.count - 1
        }
    }
}
