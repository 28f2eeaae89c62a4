/// What a program cost.
struct Cost: Codable {
    /// Its exit status.
    let status: Int32
    /// What it printed.
    let output: String
    let userMicroseconds: Int64
    let systemMicroseconds: Int64
    let peakKiB: Int64
    /// Bytes that it gave to `write`.
    let bytesWritten: Int64

    var microseconds: Int64 { userMicroseconds + systemMicroseconds }
}
