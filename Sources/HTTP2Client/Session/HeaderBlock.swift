import CNghttp2

/// The header list of one request in nghttp2's form. Owns its memory and uses it again for each request.
///
/// The entries of the head and of the pool are taken over as pointers; the request's own are copied by nghttp2 at
/// submit, so the bytes here need to live only that long.
@safe struct HeaderBlock: ~Copyable {
    private var bytes: UnsafeMutableBufferPointer<UInt8>
    private var entries: UnsafeMutableBufferPointer<nghttp2_nv>
    private var used = 0
    private var count = 0
    /// The names of ``HeaderField/Indexing/first`` that the connection's table was given: a handful, which the program
    /// chooses.
    private var named: [String] = []
    /// `:scheme` and `:authority`, for as long as the block lives: longer than the session that it serves.
    private let pool: RequestHead

    /// `:method` of the head, `:scheme`, `:authority` and `:path`.
    private static let pseudoCount = 4

    init(authority: String) {
        unsafe bytes = .allocate(capacity: 2048)
        unsafe entries = .allocate(capacity: 24)
        pool = RequestHead(
            method: "", fields: [HeaderField(":scheme", "https"), HeaderField(":authority", authority)])
    }

    deinit {
        unsafe bytes.deallocate()
        unsafe entries.deallocate()
    }

    /// Calls `body` with the fields of `request` and those of `common`, pseudo fields first.
    mutating func withFields<Result>(
        of request: UnsafePointer<Request>, and common: RequestHead?,
        _ body: (UnsafePointer<nghttp2_nv>?, Int) -> Result
    ) -> Result {
        let head = unsafe request.pointee.head.entries
        unsafe reserve(for: request, head: head.count + (common?.entries.count ?? 0))
        unsafe entries[0] = head[0]
        unsafe entries[1] = pool.entries[1]
        unsafe entries[2] = pool.entries[2]
        count = 3
        used = 0
        unsafe append(":path", request.pointee.path, indexing: .never)
        if let common {
            // The first place is that of the method, which these have not.
            for index in 1..<(unsafe common.entries.count) {
                unsafe entries[count] = common.entries[index]
                count += 1
            }
        }
        let shift = count - 1
        for index in 1..<head.count {
            unsafe entries[count] = head[index]
            count += 1
        }
        for (index, name) in unsafe request.pointee.head.firsts where isFirst(name) {
            unsafe entries[index + shift].flags &= ~UInt8(NGHTTP2_NV_FLAG_NO_INDEX.rawValue)
        }
        unsafe request.pointee.fields.withUnsafeBufferPointer { fields in
            for index in fields.indices {
                unsafe append(fields[index].name, fields[index].value, indexing: fields[index].indexing)
            }
        }
        return unsafe body(UnsafePointer(entries.baseAddress), count)
    }

    /// Makes room first: the fields point into `bytes`, which must not move while it is filled.
    private mutating func reserve(for request: UnsafePointer<Request>, head: Int) {
        var size = unsafe 16 + request.pointee.path.utf8.count
        unsafe request.pointee.fields.withUnsafeBufferPointer { fields in
            for index in fields.indices {
                unsafe size += fields[index].name.utf8.count + fields[index].value.utf8.count
            }
        }
        if unsafe bytes.count < size {
            unsafe bytes.deallocate()
            unsafe bytes = .allocate(capacity: size * 2)
        }
        let needed = unsafe Self.pseudoCount + head + request.pointee.fields.count
        if unsafe entries.count < needed {
            unsafe entries.deallocate()
            unsafe entries = .allocate(capacity: needed * 2)
        }
    }

    /// Whether the name is the first of its kind on the connection; from now on it is not.
    private mutating func isFirst(_ name: String) -> Bool {
        guard !named.contains(name) else { return false }
        named.append(name)
        return true
    }

    private mutating func append(_ name: String, _ value: String, indexing: HeaderField.Indexing) {
        let (namePointer, nameCount) = unsafe copy(name)
        let (valuePointer, valueCount) = unsafe copy(value)
        let isIndexed = indexing == .always || indexing == .first && isFirst(name)
        let flags = isIndexed ? NGHTTP2_NV_FLAG_NONE : NGHTTP2_NV_FLAG_NO_INDEX
        unsafe entries.initializeElement(
            at: count,
            to: nghttp2_nv(
                name: namePointer, value: valuePointer, namelen: nameCount, valuelen: valueCount,
                flags: UInt8(flags.rawValue)))
        count += 1
    }

    private mutating func copy(_ text: String) -> (UnsafeMutablePointer<UInt8>?, Int) {
        let start = unsafe bytes.baseAddress.map { unsafe $0 + used }
        let length =
            unsafe text.utf8.withContiguousStorageIfAvailable { utf8 in
                if let source = utf8.baseAddress { unsafe start?.update(from: source, count: utf8.count) }
                return utf8.count
            } ?? copySlowly(text)
        used += length
        return unsafe (start, length)
    }

    /// A text that is not stored as UTF-8, which only bridged ones are.
    private func copySlowly(_ text: String) -> Int {
        var count = 0
        for byte in text.utf8 {
            unsafe bytes[used + count] = byte
            count += 1
        }
        return count
    }
}
