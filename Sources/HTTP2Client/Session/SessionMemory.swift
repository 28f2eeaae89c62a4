import CNghttp2
import Glibc

/// The memory of one nghttp2 session: blocks that nghttp2 gives back wait here for its next request, so a steady flow of
/// streams allocates nothing. Without a lock, because a session belongs to one thread.
///
/// A block is preceded by its size class, a large one also by its size. Blocks of the same class form a list through
/// their first words; class 0, that of the large ones, has no list, and in its place stands the count of bytes.
@safe struct SessionMemory: ~Copyable {
    private static let header = 16
    private static let step = 64
    #if HERALD_ADDRESS_SANITIZER
        /// Everything goes to malloc: the sanitizer can't see who uses a block that waits in a list.
        private static let classCount = 1
    #else
        /// Classes of 64, 128, … 2048 bytes. What is larger goes to malloc, as class 0.
        private static let classCount = 33
    #endif

    private let free: UnsafeMutablePointer<UnsafeMutableRawPointer?>

    init() {
        unsafe free = .allocate(capacity: Self.classCount)
        unsafe free.initialize(repeating: nil, count: Self.classCount)
    }

    /// Bytes taken from malloc and not given back, in use or waiting. It ends at what the session used at its peak.
    var heldBytes: Int { unsafe Int(bitPattern: free[0]) }

    /// The session is deleted before: all its blocks are in the lists.
    deinit {
        for index in 1..<Self.classCount {
            while let block = unsafe free[index] {
                unsafe free[index] = block.load(as: UnsafeMutableRawPointer?.self)
                unsafe Glibc.free(block - Self.header)
            }
        }
        unsafe free.deallocate()
    }

    /// The functions for nghttp2, which copies the struct. They reach the lists by pointer, not through `self`.
    var functions: nghttp2_mem {
        unsafe nghttp2_mem(
            mem_user_data: UnsafeMutableRawPointer(free),
            malloc: { size, lists in unsafe SessionMemory.take(size, lists) },
            free: { block, lists in unsafe SessionMemory.give(block, lists) },
            calloc: { count, size, lists in
                let (bytes, isTooMuch) = count.multipliedReportingOverflow(by: size)
                guard !isTooMuch, let block = unsafe SessionMemory.take(bytes, lists) else { return nil }
                return unsafe memset(block, 0, bytes)
            },
            realloc: { block, size, lists in unsafe SessionMemory.resize(block, size, lists) })
    }

    private static func take(_ size: Int, _ lists: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
        let number = max(1, (size + step - 1) / step)
        guard number < classCount else {
            guard let start = unsafe malloc(size + header) else { return nil }
            unsafe start.storeBytes(of: 0, as: Int.self)
            unsafe start.storeBytes(of: size, toByteOffset: 8, as: Int.self)
            unsafe count(size + header, lists)
            return unsafe start + header
        }
        // `lists` is `free` of the memory whose session calls; it lives longer than the session.
        let list = unsafe lists!.assumingMemoryBound(to: UnsafeMutableRawPointer?.self) + number
        if let block = unsafe list.pointee {
            unsafe list.pointee = block.load(as: UnsafeMutableRawPointer?.self)
            return unsafe block
        }
        guard let start = unsafe malloc(number * step + header) else { return nil }
        unsafe start.storeBytes(of: number, as: Int.self)
        unsafe count(number * step + header, lists)
        return unsafe start + header
    }

    private static func count(_ bytes: Int, _ lists: UnsafeMutableRawPointer?) {
        let held = unsafe lists!.assumingMemoryBound(to: UnsafeMutableRawPointer?.self)
        unsafe held.pointee = UnsafeMutableRawPointer(bitPattern: Int(bitPattern: held.pointee) + bytes)
    }

    private static func give(_ block: UnsafeMutableRawPointer?, _ lists: UnsafeMutableRawPointer?) {
        guard let block = unsafe block else { return }
        let number = unsafe (block - header).load(as: Int.self)
        guard number > 0 else {
            unsafe count(-header - (block - 8).load(as: Int.self), lists)
            return unsafe Glibc.free(block - header)
        }
        let list = unsafe lists!.assumingMemoryBound(to: UnsafeMutableRawPointer?.self) + number
        unsafe block.storeBytes(of: list.pointee, as: UnsafeMutableRawPointer?.self)
        unsafe list.pointee = block
    }

    private static func resize(
        _ block: UnsafeMutableRawPointer?, _ size: Int, _ lists: UnsafeMutableRawPointer?
    ) -> UnsafeMutableRawPointer? {
        guard let block = unsafe block else { return unsafe take(size, lists) }
        let number = unsafe (block - header).load(as: Int.self)
        if number == 0 {
            let before = unsafe (block - 8).load(as: Int.self)
            guard let start = unsafe realloc(block - header, size + header) else { return nil }
            unsafe start.storeBytes(of: size, toByteOffset: 8, as: Int.self)
            unsafe count(size - before, lists)
            return unsafe start + header
        }
        if size <= number * step { return unsafe block }
        guard let larger = unsafe take(size, lists) else { return nil }
        unsafe larger.copyMemory(from: block, byteCount: number * step)
        unsafe give(block, lists)
        return unsafe larger
    }
}
