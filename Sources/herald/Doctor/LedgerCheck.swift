import Foundation
import Store
import Synchronization

/// Recounts everything in a store from its rows: `herald doctor --ledger`.
///
/// It works beside a running gateway, in many short snapshots, so that the journal of the store does not grow because of
/// it.
struct LedgerCheck {
    let configuration: GatewayConfiguration

    /// How often a person who waits is told that it goes on.
    private static let progressInterval: Duration = .seconds(1)

    /// What does not hold; one good finding when all is well.
    ///
    /// - Throws: ``Failure`` when there is no store, or it can't be opened or read.
    func findings() async throws(Failure) -> [Finding] {
        let file = configuration.storeName
        guard configuration.hasStore else {
            throw Failure(
                .inputOutput,
                configuration.problem(.data, "there is no store in \(configuration.dataDirectory)").description)
        }
        let start = ContinuousClock.now
        var problems: [String]
        do throws(StoreError) {
            let store = try await configuration.openStore(as: .command)
            problems = try await Self.check(store, Self.size(of: file) ?? file)
            try store.close()
        } catch {
            // A damaged page is a finding, as a sum that is off is one.
            guard error.code == .failed else { throw Failure(store: error, in: configuration) }
            problems = [error.message]
        }
        guard problems.isEmpty else { return problems.map { Finding(.bad, "ledger", $0) } }
        let seconds = (ContinuousClock.now - start).components.seconds
        return [
            Finding(
                .good, "ledger",
                "\(file)\(Self.size(of: file).map { " (\($0))" } ?? "") balances; recounted in \(seconds) s")
        ]
    }

    private static func check(_ store: any StoreAdministration, _ size: String) async throws(StoreError) -> [String] {
        let count = Count()
        let progress = Task {
            let start = ContinuousClock.now
            while !Task.isCancelled {
                let seconds = (ContinuousClock.now - start).components.seconds
                Terminal.standard.progress(progressText(size, count.value.withLock { $0 }, seconds: seconds))
                do {
                    // The pace of what is shown to people.
                    try await Task.sleep(for: progressInterval)
                } catch {
                    break
                }
            }
            Terminal.standard.progress("")
        }
        let result: Result<[String], StoreError>
        do throws(StoreError) {
            result = .success(
                try await store.check { done, total in count.value.withLock { $0 = (done, total) } })
        } catch {
            result = .failure(error)
        }
        progress.cancel()
        await progress.value
        return try result.get()
    }

    /// How many messages are recounted, and about how many there are; `nil` while the tables are compared.
    private final class Count: Sendable {
        let value = Mutex<(done: Int, total: Int)?>(nil)
    }

    /// The line for a person who waits.
    static func progressText(_ size: String, _ count: (done: Int, total: Int)?, seconds: Int64) -> String {
        guard let count else { return "checking \(size): \(seconds) s" }
        return "recounting \(size): \(count.done) of \(count.total) messages, \(seconds) s"
    }

    /// The size of a file; `nil` when there is none, as of a database that a server has.
    private static func size(of file: String) -> String? {
        // For people only: a size that can't be read is not told.
        guard let bytes = (try? FileManager.default.attributesOfItem(atPath: file)[.size] as? NSNumber)?.int64Value
        else { return nil }
        return bytes < 10 << 20 ? "\(bytes >> 10) KiB" : "\(bytes >> 20) MiB"
    }
}
