import Foundation

/// Prints a line at once, also into a pipe.
func show(_ text: String) {
    FileHandle.standardOutput.write(Data((text + "\n").utf8))
}

/// Why a benchmark can't be run or does not count.
struct BenchFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}
