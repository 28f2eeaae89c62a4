import Foundation
import TestSupport
import Testing

/// The Swift of the article "In your app", which `Samples` has, and the layer for Apple's systems.
@Suite(.timeLimit(.minutes(5)))
struct ArticleTests {
    private static let tests = URL(filePath: #filePath).deletingLastPathComponent()
    private static let root = tests.appending(path: "../..")

    @Test("each Swift line of the article and of the README is one of the samples")
    func swiftLines() throws {
        let samples = ["AppDelegate", "NotificationService", "Snippets"].map { "Samples/\($0).swift" }
        let code = Set(try samples.flatMap { try Self.lines(of: Self.tests.appending(path: $0)) })
        #expect(try Self.count(of: "Sources/herald/herald.docc/InYourApp.md", in: code) > 80)
        #expect(try Self.count(of: "README.md", in: code) == 7)
    }

    /// How many Swift lines an article has, each of which must be in the code.
    private static func count(of article: String, in code: Set<String>) throws -> Int {
        var isSwift = false
        var count = 0
        for line in try lines(of: root.appending(path: article)) {
            if line.hasPrefix("```") {
                isSwift = line == "```swift"
            } else if isSwift, !line.isEmpty {
                count += 1
                #expect(code.contains(line), "\(line)")
            }
        }
        return count
    }

    /// The lines of a file without what is around them.
    private static func lines(of file: URL) throws -> [String] {
        try String(contentsOf: file, encoding: .utf8).split(separator: "\n", omittingEmptySubsequences: false)
            .map { $0.trimmingCharacters(in: .whitespaces) }
    }

    @Test("the library and the samples are sound where Apple's modules are, by stand-ins of these")
    func appleSystems() async throws {
        let script = Self.root.appending(path: ".ci/check-apple").path
        let checked = try await ChildProcess.run("/bin/bash", [script], environment: Self.environment)
        #expect(checked.status == 0, "\(checked.lines.joined(separator: "\n"))")
        #expect(checked.lines.count { $0.hasPrefix("type-checked with") } == 2)
    }

    /// This process's, without what makes another package of this one.
    private static var environment: [String: String] {
        ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("HERALD_") }
    }

    @Test("a package that takes the library without the trait Gateway fetches no other package")
    func nothingIsFetched() async throws {
        let directory = try TestDirectory()
        let path = Self.root.standardizedFileURL.path
        try """
        // swift-tools-version: 6.2
        import PackageDescription

        let package = Package(
            name: "App", platforms: [.macOS(.v15), .iOS(.v16)],
            dependencies: [.package(name: "herald", path: "\(path)", traits: [])],
            targets: [
                .executableTarget(
                    name: "App", dependencies: [.product(name: "HeraldMessaging", package: "herald")], path: ".",
                    sources: ["main.swift"])
            ])

        """.write(toFile: directory.file("Package.swift"), atomically: true, encoding: .utf8)
        try "import HeraldMessaging\n".write(
            toFile: directory.file("main.swift"), atomically: true, encoding: .utf8)
        let shown = try await ChildProcess.run(
            "/usr/bin/env",
            ["swift", "package", "--package-path", directory.path, "show-dependencies", "--format", "flatlist"],
            environment: Self.environment)
        #expect(shown.status == 0, "\(shown.lines.joined(separator: "\n"))")
        let packages = shown.lines.filter { !$0.isEmpty && !$0.contains(" ") }
        #expect(packages.count == 1, "\(packages)")
        #expect(!FileManager.default.fileExists(atPath: directory.file(".build/checkouts/swift-nio")))
    }
}
