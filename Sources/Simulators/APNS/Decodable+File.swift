import Foundation

extension Decodable {
    /// Reads a JSON file of the state directory.
    ///
    /// - Returns: `nil` when there is no such file.
    /// - Throws: ``SimulatorError`` that names the file and the key.
    static func decoded(file: String) throws -> Self? {
        guard FileManager.default.fileExists(atPath: file) else { return nil }
        let data: Data
        do {
            data = try Data(contentsOf: URL(filePath: file))
        } catch {
            throw SimulatorError("\(file): cannot be read; make it readable or delete it")
        }
        do {
            return try JSONDecoder().decode(Self.self, from: data)
        } catch let error as DecodingError {
            throw SimulatorError("\(file): \(error.problem)")
        }
    }
}
