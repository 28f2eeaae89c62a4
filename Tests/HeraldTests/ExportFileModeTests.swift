import Foundation
import TestSupport
import Testing

@testable import herald

/// The file of an export says who got which message.
struct ExportFileModeTests {
    private func mode(_ path: String) throws -> Int? {
        (try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? NSNumber)?.intValue
    }

    private let cursor = ExportCursor(
        project: "demo", start: "2026-01-01T00:00:00Z", end: "2026-01-02T00:00:00Z", format: "csv", pageToken: "x",
        bytes: 0, rows: 0)

    @Test func anExportIsItsOwnersAlone() throws {
        let directory = try TestDirectory()
        let file = ExportFile(path: directory.file("rows.csv"))
        _ = try file.begun(with: cursor)
        #expect(try mode(file.partPath) == 0o600 && mode(file.cursorPath) == 0o600)
    }

    @Test func anExportInPlaceOfAnOpenFileTellsItsReadersNothing() throws {
        let directory = try TestDirectory()
        let file = ExportFile(path: directory.file("rows.csv"))
        try Data("old rows".utf8).write(to: URL(filePath: file.path))
        try FileManager.default.setAttributes([.posixPermissions: NSNumber(value: 0o666)], ofItemAtPath: file.path)
        let reader = try FileHandle(forReadingFrom: URL(filePath: file.path))
        var cursor = try file.begun(with: cursor)
        // An export that fails here leaves the old one.
        #expect(try String(contentsOfFile: file.path, encoding: .utf8) == "old rows")
        try file.append(Array("a\r\nb\r\n".utf8), then: nil, &cursor)
        #expect(try mode(file.path) == 0o600)
        #expect(try String(contentsOfFile: file.path, encoding: .utf8) == "a\r\nb\r\n")
        #expect(!FileManager.default.fileExists(atPath: file.partPath))
        #expect(try reader.readToEnd() == Data("old rows".utf8))
    }

    @Test func anExportToADeviceIsWrittenThere() throws {
        let directory = try TestDirectory()
        let path = directory.file("null")
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: "/dev/null")
        let file = ExportFile(path: path)
        var cursor = try file.begun(with: cursor)
        try file.append(Array("a\r\n".utf8), then: nil, &cursor)
        #expect(file.partPath == path)
        let kind = try FileManager.default.attributesOfItem(atPath: "/dev/null")[.type] as? FileAttributeType
        #expect(kind == .typeCharacterSpecial)
    }
}
