import Foundation
import GRDB
import PushModel
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

    /// The token of the registration with this FID.
    func token(of fid: String) throws -> RegistrationToken {
        try RegistrationToken(stored: text(after: fid))
    }
}

extension RegistrationID {
    /// A new FID from the system's generator of random numbers.
    static func random() throws -> RegistrationID {
        var generator = SystemRandomNumberGenerator()
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
        let first = Array("cdef".utf8)
        var text = [first[Int.random(in: 0..<4, using: &generator)]]
        text.reserveCapacity(22)
        while text.count < 22 {
            var bits: UInt64 = generator.next()
            for _ in 0..<min(10, 22 - text.count) {
                text.append(alphabet[Int(bits & 63)])
                bits >>= 6
            }
        }
        return try RegistrationID(stored: String(decoding: text, as: UTF8.self))
    }
}
