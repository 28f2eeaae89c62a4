/// Plain bytes on their way to TLS. Owns its memory; grows to the largest burst and stays there.
///
/// nghttp2 hands out one frame at a time; here they gather, so that one record of 16 KiB carries many streams.
@safe struct OutputBuffer: ~Copyable {
    /// The most plain bytes in one TLS record (RFC 8446 §5.1).
    static let recordBytes = 16_384

    private var storage: UnsafeMutableRawBufferPointer
    private var start = 0
    private var end = 0

    init() {
        unsafe storage = .allocate(byteCount: 4 * Self.recordBytes, alignment: 16)
    }

    deinit { unsafe storage.deallocate() }

    /// Bytes that wait.
    var count: Int { end - start }

    mutating func append(_ bytes: UnsafeRawBufferPointer) {
        if unsafe end + bytes.count > storage.count { makeRoom(for: bytes.count) }
        unsafe UnsafeMutableRawBufferPointer(rebasing: storage[end..<end + bytes.count]).copyMemory(from: bytes)
        end += bytes.count
    }

    private mutating func makeRoom(for added: Int) {
        let count = self.count
        if unsafe count + added <= storage.count / 2 {
            unsafe storage.baseAddress?.copyMemory(from: storage.baseAddress! + start, byteCount: count)
        } else {
            let larger = UnsafeMutableRawBufferPointer.allocate(byteCount: 2 * (count + added), alignment: 16)
            unsafe larger.copyMemory(from: UnsafeRawBufferPointer(rebasing: storage[start..<end]))
            unsafe storage.deallocate()
            unsafe storage = larger
        }
        start = 0
        end = count
    }

    /// Calls `body` with the next record's worth of bytes.
    func withRecord<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        let count = min(count, Self.recordBytes)
        return unsafe body(UnsafeRawBufferPointer(rebasing: storage[start..<start + count]))
    }

    /// The first `count` bytes are gone.
    mutating func consume(_ count: Int) {
        start += count
        if start == end {
            start = 0
            end = 0
        }
    }
}
