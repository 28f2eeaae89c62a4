import Foundation
import GRDB
import Store

extension StoredToken {
    /// Reads the column.
    init(_ value: DatabaseValue) throws {
        switch value.storage {
        case .blob(let data) where data.count == Self.seedBytes: self = .seed([UInt8](data))
        case .string(let text) where text.utf8.first == UInt8(ascii: ":"): self = .tail(text)
        case .string(let text): self = .whole(text)
        case .blob, .null, .int64, .double: throw StoreError.invalid("a registration token")
        }
    }

    /// The column.
    var databaseValue: DatabaseValue {
        switch self {
        case .seed(let bytes): Data(bytes).databaseValue
        case .tail(let text), .whole(let text): text.databaseValue
        }
    }
}
