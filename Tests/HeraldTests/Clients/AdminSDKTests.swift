import Foundation
import TestSupport
import Testing

/// firebase-admin for Python as it comes from PyPI, pointed at a gateway by the lines of the article.
@Suite(
    .serialized, .heavy, .timeLimit(.minutes(10)),
    .enabled(Python.current.expectation, { try await Python.current.isFound() }))
struct AdminSDKTests {
    @Test(arguments: ClientAccess.keys) func everydayCallsWork(access: ClientAccess) async throws {
        try await access.run(.adminSDK, "everyday")
    }

    @Test(arguments: ClientAccess.accounts) func serviceAccountsWork(access: ClientAccess) async throws {
        try await access.run(.adminSDK, "everyday")
    }

    @Test(arguments: ClientAccess.keys) func callsOfThisGenerationWork(access: ClientAccess) async throws {
        try await access.run(.adminSDK, "current")
    }

    @Test(arguments: ClientAccess.keys) func errorsHaveTheirClasses(access: ClientAccess) async throws {
        try await access.run(.adminSDK, "errors")
    }

    @Test(arguments: ClientAccess.keys) func theArticleIsRight(access: ClientAccess) async throws {
        try await access.run(.article, "key")
    }

    @Test(arguments: ClientAccess.accounts) func theArticleIsRightOnServiceAccounts(access: ClientAccess) async throws {
        try await access.run(.article, "account")
    }

    @Test func aFullQueueIsAQuota() async throws {
        try await ClientAccess.keys[0].run(.adminSDK, "full", settings: "limits:\n  messages: 3\n  shutdownSeconds: 1")
    }

    @Test func aGatewayWithoutAStoreIsUnavailable() async throws {
        try await GatewayUnderTest.with { test in
            // No database, whatever was in it.
            for file in try FileManager.default.contentsOfDirectory(atPath: test.directory.file("data")) {
                try FileManager.default.removeItem(atPath: test.directory.file("data/\(file)"))
            }
            try Data(repeating: 0xa5, count: 65_536).write(to: URL(filePath: test.directory.file("data/herald.db")))
            let process = try await test.start()
            try await ClientScript.adminSDK.run("unavailable", test, baseURL: process.baseURL)
            #expect(await process.end(with: SIGTERM) == 0)
        }
    }

    @Test(arguments: ClientAccess.keys) func theOutcomeAtAPNsReachesTheCaller(access: ClientAccess) async throws {
        try await access.run(.adminSDK, "outcome")
    }

    @Test(arguments: ClientAccess.all) func aRefusedCredentialIsAThirdPartyError(access: ClientAccess) async throws {
        try await access.run(.adminSDK, "credential")
    }
}

/// firebase-admin 6.9: topics through Instance ID, and the multipart batch.
@Suite(
    .serialized, .heavy, .timeLimit(.minutes(10)),
    .enabled(Python.legacy.expectation, { try await Python.legacy.isFound() }))
struct OldAdminSDKTests {
    @Test(arguments: ClientAccess.keys) func everydayCallsWork(access: ClientAccess) async throws {
        try await access.run(.oldAdminSDK, "everyday")
    }

    @Test(arguments: ClientAccess.accounts) func serviceAccountsWork(access: ClientAccess) async throws {
        try await access.run(.oldAdminSDK, "everyday")
    }

    @Test(arguments: ClientAccess.keys) func errorsHaveTheirClasses(access: ClientAccess) async throws {
        try await access.run(.oldAdminSDK, "errors")
    }

    @Test(arguments: ClientAccess.keys) func theArticleIsRight(access: ClientAccess) async throws {
        try await access.run(.oldArticle, "key")
    }

    @Test(arguments: ClientAccess.keys) func multipartBatchesWork(access: ClientAccess) async throws {
        try await access.run(.oldAdminSDK, "batch")
    }

    @Test(arguments: ClientAccess.accounts) func serviceAccountsMayBatch(access: ClientAccess) async throws {
        try await access.run(.oldAdminSDK, "batch")
    }
}

/// pyfcm 2.1, which builds requests of v1 by hand.
@Suite(
    .serialized, .heavy, .timeLimit(.minutes(10)),
    .enabled(Python.current.expectation, { try await Python.current.isFound() }))
struct PyFCMTests {
    @Test(arguments: ClientAccess.keys) func everydayCallsWork(access: ClientAccess) async throws {
        try await access.run(.pyFCM, "everyday")
    }

    @Test(arguments: ClientAccess.accounts) func serviceAccountsWork(access: ClientAccess) async throws {
        try await access.run(.pyFCM, "everyday")
    }
}

/// pyfcm 1.5, for which only the protocol before v1 exists.
@Suite(
    .serialized, .heavy, .timeLimit(.minutes(10)),
    .enabled(Python.legacy.expectation, { try await Python.legacy.isFound() }))
struct OldPyFCMTests {
    @Test(arguments: ClientAccess.keys) func everydayCallsWork(access: ClientAccess) async throws {
        try await access.run(.oldPyFCM, "everyday")
    }

    @Test(arguments: ClientAccess.keys) func theArticleIsRight(access: ClientAccess) async throws {
        try await access.run(.oldArticle, "server key")
    }
}
