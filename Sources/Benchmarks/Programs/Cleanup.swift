import Dispatch
import Foundation
import Synchronization

/// What must not outlive a run, also when that is ended by SIGINT or SIGTERM: the programs that it started, and its
/// directories.
enum Cleanup {
    private struct State {
        var processes: Set<Int32> = []
        var folders: Set<String> = []
        /// From the first program or directory on.
        var signals: [any DispatchSourceSignal] = []
    }

    private static let state = Mutex(State())
    /// Time for a program to end those that it started itself.
    private static let grace = 0.3

    /// Takes note of a program that was started.
    static func add(process: Int32) {
        change { _ = $0.processes.insert(process) }
    }

    /// Takes note of a program that was waited for: its number may become another's.
    static func remove(process: Int32) {
        change { _ = $0.processes.remove(process) }
    }

    /// Takes note of a directory that was made.
    static func add(folder: String) {
        change { _ = $0.folders.insert(folder) }
    }

    /// Removes a directory now.
    static func remove(folder: String) {
        change { _ = $0.folders.remove(folder) }
        do {
            try FileManager.default.removeItem(atPath: folder)
        } catch {
            show("\(folder) could not be removed: \(error)")
        }
    }

    private static func change(_ body: (inout State) -> Void) {
        state.withLock { state in
            body(&state)
            if state.signals.isEmpty { state.signals = [SIGINT, SIGTERM].map(source) }
        }
    }

    /// On Linux a source takes the signal from its usual handling (signalfd).
    private static func source(of number: Int32) -> any DispatchSourceSignal {
        let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
        source.setEventHandler {
            let (processes, folders) = state.withLock { ($0.processes, $0.folders) }
            for process in processes { kill(process, SIGTERM) }
            // Not all of them are children, so their ends can't be waited for.
            Thread.sleep(forTimeInterval: grace)
            for process in processes { kill(process, SIGKILL) }
            for folder in folders { remove(folder: folder) }
            exit(128 + number)
        }
        source.resume()
        return source
    }
}
