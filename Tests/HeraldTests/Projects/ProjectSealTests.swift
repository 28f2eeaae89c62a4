import Foundation
import PushModel
import Signing
import Store
import TestSupport
import Testing

@testable import herald

/// What is sealed of stored projects, and the keys for it.
@Suite(.timeLimit(.minutes(2)))
struct ProjectSealTests {
    private static let files: [String: [UInt8]] = ["keys/AuthKey_ABC1234567.p8": [1, 2, 3], "keys/\"ca\".pem": []]

    private static func project(_ id: String = "demo", text: String = "project: demo\n") throws -> StoredProject {
        StoredProject(id: try #require(ProjectID(rawValue: id)), file: "demo.yaml", text: text, sealed: [])
    }

    private static func key(_ byte: UInt8) -> [UInt8] { [UInt8](repeating: byte, count: SecretsKeys.keyLength) }

    @Test func filesComeBackAsTheyWere() throws {
        let seal = try ProjectSeal(key: Self.key(1), former: nil)
        let stored = try seal.sealing(Self.files, of: Self.project())
        #expect(try seal.files(of: stored) == Self.files)
        #expect(try stored.sealed != seal.sealing(Self.files, of: Self.project()).sealed)
        #expect(try seal.files(of: seal.sealing([:], of: Self.project())) == [:])
    }

    /// A row of the database that is put in the place of another one, or whose text is changed, opens nothing.
    @Test func whatIsOfAnotherProjectOrTextDoesNotOpen() throws {
        let seal = try ProjectSeal(key: Self.key(1), former: nil)
        let stored = try seal.sealing(Self.files, of: Self.project())
        var others = [StoredProject](repeating: stored, count: 4)
        others[0].id = try #require(ProjectID(rawValue: "shop"))
        others[1].text += "weight: 2\n"
        others[2].file = "shop.yaml"
        others[3].sealed[stored.sealed.count / 2] ^= 1
        for other in others {
            let error = #expect(throws: SigningError.self) { try seal.files(of: other) }
            #expect(error?.code == .notSealed)
        }
        #expect(!stored.sealed.contains(subsequence: Array("AuthKey".utf8)))
    }

    @Test func theKeyBeforeOpensAndSealsNothing() throws {
        let (first, second) = (
            try ProjectSeal(key: Self.key(1), former: nil), try ProjectSeal(key: Self.key(2), former: nil)
        )
        let both = try ProjectSeal(key: Self.key(2), former: Self.key(1))
        let old = try first.sealing(Self.files, of: Self.project())
        #expect(try both.files(of: old) == Self.files)
        #expect(throws: SigningError.self) { try second.files(of: old) }
        #expect(try second.files(of: both.sealing(Self.files, of: Self.project())) == Self.files)
        #expect(try both.fits(first.keyCheck()) && both.fits(second.keyCheck()))
        #expect(try !second.fits(first.keyCheck()))
        #expect(!second.fits([]))
    }

    private static func problems(_ environment: [String: String]) -> [String] {
        do {
            _ = try SecretsKeys(environment: environment).seal()
            return []
        } catch {
            return error.problems.map(\.description)
        }
    }

    @Test func aKeyThatIsNoneIsToldWithItsVariable() throws {
        let good = Data(Self.key(1)).base64EncodedString()
        let directory = try TestDirectory()
        let path = directory.file("key")
        try PrivateFile(path: path).write(Data((good + "\n").utf8))
        #expect(Self.problems(["HERALD_SECRETS_KEY": good, "HERALD_SECRETS_KEY_FORMER": good]) == [])
        #expect(Self.problems(["HERALD_SECRETS_KEY_FILE": path, "HERALD_SECRETS_KEY": ""]) == [])
        let length = "is not 32 bytes in base64; openssl rand -base64 32 makes one"
        #expect(Self.problems(["HERALD_SECRETS_KEY": "c2hvcnQ="]) == ["HERALD_SECRETS_KEY: \(length)"])
        #expect(
            Self.problems(["HERALD_SECRETS_KEY": good, "HERALD_SECRETS_KEY_FORMER": "?"])
                == ["HERALD_SECRETS_KEY_FORMER: \(length)"])
        #expect(
            Self.problems(["HERALD_SECRETS_KEY": good, "HERALD_SECRETS_KEY_FILE": path])
                == ["HERALD_SECRETS_KEY_FILE: HERALD_SECRETS_KEY is set too; set one of them"])
        #expect(
            Self.problems(["HERALD_SECRETS_KEY_FILE": path + "x"])
                == ["HERALD_SECRETS_KEY_FILE: \(path)x: no such file"])
        #expect(Self.problems([:]).first?.hasPrefix("HERALD_SECRETS_KEY: not set") == true)
        #expect(SecretsKeys(environment: ["HERALD_SECRETS_KEY": good]).keyVariable == "HERALD_SECRETS_KEY")
        #expect(SecretsKeys(environment: ["HERALD_SECRETS_KEY_FILE": path]).keyVariable == "HERALD_SECRETS_KEY_FILE")
        try FileManager.default.setAttributes([.posixPermissions: NSNumber(value: 0o644)], ofItemAtPath: path)
        #expect(
            Self.problems(["HERALD_SECRETS_KEY_FILE": path]).first?.contains("is readable by every user") == true)
    }
}

extension Array where Element: Equatable {
    fileprivate func contains(subsequence part: [Element]) -> Bool {
        guard count >= part.count else { return false }
        return (0...(count - part.count)).contains { Array(self[$0..<($0 + part.count)]) == part }
    }
}
