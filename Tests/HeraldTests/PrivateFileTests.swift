import Foundation
import TestSupport
import Testing

@testable import herald

/// Files that hold secrets.
struct PrivateFileTests {
    private let directory = try? TestDirectory()

    private func write(
        _ text: String, to path: String, replaces: Bool, after body: () async throws(Failure) -> Void = {}
    ) async throws {
        try await PrivateFile(path: path).write(
            Data(text.utf8), replaces: replaces, failure: { Failure(.inputOutput, "\($0)") }, after: body)
    }

    private func names(in directory: TestDirectory) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: directory.path)
    }

    @Test func aFileIsReplacedAndIsItsOwnersAlone() async throws {
        let directory = try #require(directory)
        let file = directory.file("sa.json")
        try await write("old", to: file, replaces: false)
        try await write("new", to: file, replaces: true)
        #expect(try String(contentsOfFile: file, encoding: .utf8) == "new")
        let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? NSNumber
        #expect(mode?.intValue == 0o600)
        await #expect(throws: Failure.self) { try await write("third", to: file, replaces: false) }
        #expect(try String(contentsOfFile: file, encoding: .utf8) == "new")
        #expect(try names(in: directory) == ["sa.json"])
    }

    @Test func theOldFileStaysWhenTheNewOneCannotTakeItsPlace() async throws {
        let directory = try #require(directory)
        let file = directory.file("sa.json")
        try await write("old", to: file, replaces: true)
        await #expect(throws: Failure.self) {
            try await write("new", to: file, replaces: true) {
                // Cleaning up behind a crash: there may be nothing.
                for name in (try? names(in: directory)) ?? [] where name.hasPrefix(".herald-") {
                    try? FileManager.default.removeItem(atPath: directory.file(name))
                }
            }
        }
        #expect(try String(contentsOfFile: file, encoding: .utf8) == "old")
    }

    @Test func aDirectoryIsNoFileToReplace() async throws {
        let directory = try #require(directory)
        let file = directory.file("sa.json")
        try PrivateFile.makeDirectory(file + "/inside")
        await #expect(throws: Failure.self) { try await write("new", to: file, replaces: true) }
        #expect(FileManager.default.fileExists(atPath: file + "/inside"))
    }
}
