import NIOCore

/// Lowers the `SETTINGS_HEADER_TABLE_SIZE` of an HTTP/2 peer to the protocol's default before the library reads it: its
/// encoder makes the table of response fields as large as the peer says, and looks through all of it for each field. A peer
/// that says 2 GiB and chooses the value of a field, as with `X-Request-Id`, would hold up the loop that it shares.
///
/// A smaller table than the peer allows is the encoder's choice (RFC 7541 section 4.2). The default, 4096 bytes, is the size
/// from the start, so the peer need not be told. Stands before `NIOHTTP2Handler`; looks at frame headers and at the payload of
/// SETTINGS, and holds back nothing.
final class HeaderTableLimit: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private var settings = PeerSettings()

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = unwrapInboundIn(data)
        settings.limit(&bytes)
        context.fireChannelRead(wrapInboundOut(bytes))
    }
}

/// Where in its bytes an HTTP/2 connection's SETTINGS are, however the bytes are cut up.
struct PeerSettings {
    /// The largest table of fields (RFC 9113 section 6.5.2, RFC 7541 section 4.2).
    static let tableBytes: UInt32 = 4096

    private static let headerBytes = 9
    private static let entryBytes = 6
    private static let settingsType: UInt8 = 4
    private static let tableSizeID: UInt16 = 1

    private enum Place {
        /// Before the first frame, with so many bytes to come.
        case preface(rest: Int)
        /// In a frame's header, of which so many bytes came; its length and type as far as they are known.
        case header(count: Int, length: Int, type: UInt8)
        /// In a payload that is passed over, with so many bytes to come.
        case payload(rest: Int)
        /// In the payload of SETTINGS: how many bytes of an entry came, and its identifier and the value as it goes on.
        case settings(rest: Int, count: Int, id: UInt16, value: TableSize)
    }

    /// The value of an entry, byte by byte from the highest: the bytes that go on are at most those of the limit.
    private struct TableSize {
        /// Whether a byte so far was larger than that of the limit: the rest is the limit's.
        private var isAbove = false
        /// Whether one was smaller: the rest goes on as it is.
        private var isBelow = false

        mutating func limited(_ byte: UInt8, at place: Int) -> UInt8 {
            let limit = UInt8(truncatingIfNeeded: PeerSettings.tableBytes >> UInt32(8 * (3 - place)))
            if !isAbove, !isBelow { (isAbove, isBelow) = (byte > limit, byte < limit) }
            return isAbove ? limit : byte
        }
    }

    // PRI * HTTP/2.0, blank line, SM, blank line.
    private var place = Place.preface(rest: 24)

    /// Reads on, and lowers table sizes above the limit in place.
    mutating func limit(_ bytes: inout ByteBuffer) {
        var index = bytes.readerIndex
        while index < bytes.writerIndex {
            switch place {
            case .preface(let rest):
                index += skip(rest, from: index, of: bytes) { .preface(rest: $0) }
            case .payload(let rest):
                index += skip(rest, from: index, of: bytes) { .payload(rest: $0) }
            case .header(let count, let length, let type):
                place = header(bytes[index], count, length, type)
                index += 1
            case .settings(let rest, let count, let id, let value):
                bytes.setInteger(entry(bytes[index], rest, count, id, value), at: index)
                index += 1
            }
        }
    }

    /// Passes over what is there of `rest` bytes; says how many.
    private mutating func skip(_ rest: Int, from index: Int, of bytes: ByteBuffer, _ place: (Int) -> Place) -> Int {
        let count = min(rest, bytes.writerIndex - index)
        self.place = count == rest ? .header(count: 0, length: 0, type: 0) : place(rest - count)
        return count
    }

    private func header(_ byte: UInt8, _ count: Int, _ length: Int, _ type: UInt8) -> Place {
        let length = count < 3 ? length << 8 | Int(byte) : length
        let type = count == 3 ? byte : type
        guard count == Self.headerBytes - 1 else { return .header(count: count + 1, length: length, type: type) }
        guard length > 0 else { return .header(count: 0, length: 0, type: 0) }
        return type == Self.settingsType
            ? .settings(rest: length, count: 0, id: 0, value: TableSize()) : .payload(rest: length)
    }

    /// Takes a byte of an entry; says which one goes on.
    private mutating func entry(
        _ byte: UInt8, _ rest: Int, _ count: Int, _ id: UInt16, _ value: TableSize
    ) -> UInt8 {
        var (id, value, byte) = (id, value, byte)
        if count < 2 {
            id = id << 8 | UInt16(byte)
        } else if id == Self.tableSizeID {
            byte = value.limited(byte, at: count - 2)
        }
        if rest == 1 {
            place = .header(count: 0, length: 0, type: 0)
        } else if count == Self.entryBytes - 1 {
            place = .settings(rest: rest - 1, count: 0, id: 0, value: TableSize())
        } else {
            place = .settings(rest: rest - 1, count: count + 1, id: id, value: value)
        }
        return byte
    }
}

extension ByteBuffer {
    /// The byte at an index that is there.
    fileprivate subscript(index: Int) -> UInt8 { getInteger(at: index) ?? 0 }
}
