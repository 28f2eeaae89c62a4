import COpenSSL
import Glibc

/// What the BIO knows of the socket.
struct SocketLink {
    let descriptor: Int32
    /// The last recv took all there was. Asking again before epoll reports more would only cost a system call.
    var isDrained = false
    /// Bytes that the kernel took.
    var sent: Int64 = 0
    /// What the last system call ended with, if it gave no bytes; 0: the end of the stream.
    var failure: Int32 = 0

    /// Makes the BIO's functions; the caller frees them.
    static func makeMethod() -> OpaquePointer? {
        // OpenSSL reads types only to find a BIO of some kind in a chain, which does not happen here.
        guard let method = unsafe BIO_meth_new(BIO_TYPE_SOURCE_SINK, "socket") else { return nil }
        unsafe BIO_meth_set_read(method, socketRead)
        unsafe BIO_meth_set_write(method, socketWrite)
        unsafe BIO_meth_set_ctrl(method, socketControl)
        return unsafe method
    }
}

private func socketRead(_ bio: OpaquePointer?, _ buffer: UnsafeMutablePointer<CChar>?, _ count: Int32) -> Int32 {
    guard let link = unsafe BIO_get_data(bio)?.assumingMemoryBound(to: SocketLink.self) else { return -1 }
    unsafe herald_BIO_clear_retry_flags(bio)
    guard unsafe !link.pointee.isDrained else {
        unsafe herald_BIO_set_retry_read(bio)
        return -1
    }
    let received = unsafe recv(link.pointee.descriptor, buffer, Int(count), 0)
    if received <= 0 { unsafe link.pointee.failure = received < 0 ? errno : 0 }
    if received < 0, errno == EAGAIN || errno == EINTR { unsafe herald_BIO_set_retry_read(bio) }
    if received > 0, received < Int(count) { unsafe link.pointee.isDrained = true }
    return Int32(received)
}

private func socketWrite(_ bio: OpaquePointer?, _ bytes: UnsafePointer<CChar>?, _ count: Int32) -> Int32 {
    guard let link = unsafe BIO_get_data(bio)?.assumingMemoryBound(to: SocketLink.self) else { return -1 }
    unsafe herald_BIO_clear_retry_flags(bio)
    let sent = unsafe send(link.pointee.descriptor, bytes, Int(count), Socket.withoutSignal)
    if sent < 0 { unsafe link.pointee.failure = errno }
    if sent < 0, errno == EAGAIN || errno == EINTR { unsafe herald_BIO_set_retry_write(bio) }
    if sent > 0 { unsafe link.pointee.sent += Int64(sent) }
    return Int32(sent)
}

private func socketControl(
    _ bio: OpaquePointer?, _ command: Int32, _ number: Int, _ pointer: UnsafeMutableRawPointer?
) -> Int {
    // Nothing is buffered here: flushing succeeds, everything else is not for us.
    command == BIO_CTRL_FLUSH ? 1 : 0
}
