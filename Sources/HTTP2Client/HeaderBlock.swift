import CNghttp2

/// The header list of one request in nghttp2's form. Owns its memory and uses it again for each request.
///
/// nghttp2 copies what it is given at submit, so the contents need to live only that long.
@safe struct HeaderBlock: ~Copyable {
    private var bytes: UnsafeMutableBufferPointer<UInt8>
    private var fields: UnsafeMutableBufferPointer<nghttp2_nv>
    private var used = 0
    private var count = 0

    init() {
        unsafe bytes = .allocate(capacity: 2048)
        unsafe fields = .allocate(capacity: 24)
    }

    deinit {
        unsafe bytes.deallocate()
        unsafe fields.deallocate()
    }

    /// Calls `body` with the fields of `request`, pseudo fields first.
    mutating func withFields<Result>(
        of request: borrowing Request, authority: String,
        _ body: (UnsafePointer<nghttp2_nv>?, Int) -> Result
    ) -> Result {
        reserve(for: request, authority: authority)
        append(":method", request.method, isIndexed: true)
        append(":scheme", "https", isIndexed: true)
        append(":authority", authority, isIndexed: true)
        append(":path", request.path, isIndexed: false)
        for field in request.headers {
            append(field.name, field.value, isIndexed: field.isIndexed)
        }
        return unsafe body(UnsafePointer(fields.baseAddress), count)
    }

    /// Makes room first: the fields point into `bytes`, which must not move while it is filled.
    private mutating func reserve(for request: borrowing Request, authority: String) {
        used = 0
        count = 0
        var size = 64 + request.method.utf8.count + request.path.utf8.count + authority.utf8.count
        for field in request.headers { size += field.name.utf8.count + field.value.utf8.count }
        if unsafe bytes.count < size {
            unsafe bytes.deallocate()
            unsafe bytes = .allocate(capacity: size * 2)
        }
        if unsafe fields.count < request.headers.count + 4 {
            unsafe fields.deallocate()
            unsafe fields = .allocate(capacity: request.headers.count * 2 + 4)
        }
    }

    private mutating func append(_ name: String, _ value: String, isIndexed: Bool) {
        let (namePointer, nameCount) = unsafe copy(name)
        let (valuePointer, valueCount) = unsafe copy(value)
        let flags = isIndexed ? NGHTTP2_NV_FLAG_NONE : NGHTTP2_NV_FLAG_NO_INDEX
        unsafe fields.initializeElement(
            at: count,
            to: nghttp2_nv(
                name: namePointer, value: valuePointer, namelen: nameCount, valuelen: valueCount,
                flags: UInt8(flags.rawValue)))
        count += 1
    }

    private mutating func copy(_ text: String) -> (UnsafeMutablePointer<UInt8>?, Int) {
        let start = unsafe bytes.baseAddress.map { unsafe $0 + used }
        var text = text
        let length = text.withUTF8 { utf8 in
            if let source = utf8.baseAddress { unsafe start?.update(from: source, count: utf8.count) }
            return utf8.count
        }
        used += length
        return unsafe (start, length)
    }
}
