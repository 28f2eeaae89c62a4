/// Plain bytes to the peer and back, once the way to it stands: TLS on a socket, or memory in tests.
protocol Wire: AnyObject {
    /// Reads what has come, up to the size of `buffer`.
    func read(into buffer: UnsafeMutableRawBufferPointer) -> IOResult
    /// Writes up to one record of `output`.
    func write(_ output: borrowing OutputBuffer) -> IOResult
    /// There may be something to read.
    func noteReadable()
    /// Whether the connection wants to be woken when bytes can be written again.
    func awaitRoom(_ isWanted: Bool) throws(TransportFailure)
    /// Bytes given to the network so far.
    var bytesSent: Int64 { get }
    /// Ends it. Idempotent.
    func close()
}

extension Transport: Wire {}
