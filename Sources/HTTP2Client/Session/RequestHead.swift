import CNghttp2

/// What many requests have in common: the method and header fields, in the form that goes to nghttp2 as it is. Make one
/// for a batch and share it; a request then costs only what is its own.
///
/// Immutable: owns its memory from `init` to `deinit`.
///
/// @unchecked Sendable, because: the memory behind the pointers is written in `init` only, before anybody else can have
/// the object, and freed in `deinit`, when it has no owner any more. In between it is only read: nghttp2 takes names and
/// values through pointers to non-const, but does not write to them (nghttp2.h, nghttp2_nv).
@safe package final class RequestHead: @unchecked Sendable {
    /// `:method`.
    package let method: String
    /// The other header fields, names in lower case, in order.
    package let fields: [HeaderField]

    /// The texts of `entries`.
    private let bytes: UnsafeMutableBufferPointer<UInt8>
    /// `:method` and the fields. They point into `bytes`: the caller that gives them to nghttp2 holds on to the head until the
    /// HEADERS are written.
    let entries: UnsafeMutableBufferPointer<nghttp2_nv>
    /// Which of `entries` are of ``HeaderField/Indexing/first``, and their names. Their flags say that they are not
    /// indexed.
    let firsts: [(index: Int, name: String)]

    /// Puts a head together.
    package init(method: String, fields: [HeaderField]) {
        self.method = method
        self.fields = fields
        let all = [HeaderField(":method", method)] + fields
        firsts = all.enumerated().filter { $0.element.indexing == .first }.map { ($0.offset, $0.element.name) }
        let size = all.reduce(1) { $0 + $1.name.utf8.count + $1.value.utf8.count }
        unsafe bytes = .allocate(capacity: size)
        unsafe entries = .allocate(capacity: all.count)
        var used = 0
        for (index, field) in all.enumerated() {
            let (name, value) = (field.name.utf8.count, field.value.utf8.count)
            // The capacity was counted from the same texts.
            let start = unsafe bytes.baseAddress! + used
            _ = unsafe UnsafeMutableBufferPointer(start: start, count: name).initialize(from: field.name.utf8)
            _ = unsafe UnsafeMutableBufferPointer(start: start + name, count: value).initialize(from: field.value.utf8)
            let indexing = field.indexing == .always ? NGHTTP2_NV_FLAG_NONE : NGHTTP2_NV_FLAG_NO_INDEX
            let flags =
                indexing.rawValue | NGHTTP2_NV_FLAG_NO_COPY_NAME.rawValue | NGHTTP2_NV_FLAG_NO_COPY_VALUE.rawValue
            unsafe entries.initializeElement(
                at: index,
                to: nghttp2_nv(
                    name: start, value: start + name, namelen: name, valuelen: value, flags: UInt8(flags)))
            used += name + value
        }
    }

    deinit {
        unsafe bytes.deallocate()
        unsafe entries.deallocate()
    }
}
