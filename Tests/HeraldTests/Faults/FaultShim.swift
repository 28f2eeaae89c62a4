import Foundation
import Synchronization
import TestSupport

/// A library that is loaded before the C library: it steps the wall clock of a process, and makes the disk under its
/// store fail, as told in a file that both sides have open. What the process does is all its own.
final class FaultShim: Sendable {
    private let directory: TestDirectory
    private let control: String
    private let library: String
    private let offset = Atomic<Int64>(0)

    /// The time by the clock that is stepped, for a simulator: Apple's clock goes with ours, or refuses our tokens.
    var wallTimeMilliseconds: Int64 {
        Int64(Date().timeIntervalSince1970 * 1000) + offset.load(ordering: .acquiring) * 1000
    }

    /// The compiler that builds it, the first that is there.
    static let compiler: String? =
        ["/usr/bin/cc", "/usr/bin/clang", "/opt/swift/usr/bin/clang"]
        .first { FileManager.default.isExecutableFile(atPath: $0) } ?? onPath("clang")

    private static func onPath(_ name: String) -> String? {
        (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map { "\($0)/\(name)" }
            .first { FileManager.default.isExecutableFile(atPath: $0) }
    }

    init() async throws {
        directory = try TestDirectory()
        control = directory.file("control")
        library = directory.file("faults.so")
        try Data(count: 16).write(to: URL(filePath: control))
        let source = directory.file("faults.c")
        try Self.source.write(toFile: source, atomically: true, encoding: .utf8)
        let built = try await ChildProcess.run(
            Self.compiler ?? "cc", ["-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"])
        guard built.status == 0 else { throw ChildProcessError("cc: \(built.lines)") }
    }

    /// What a process needs that is to have the faults.
    var environment: [String: String] { ["LD_PRELOAD": library, "FAULTS_CONTROL": control] }

    /// How many seconds the wall clock is ahead; behind when negative.
    func stepClock(to seconds: Int64) throws {
        try write(seconds, at: 0)
        offset.store(seconds, ordering: .releasing)
    }

    /// The error of each write to a store, and of each read; 0: none.
    func failDisk(writing: Int32 = 0, reading: Int32 = 0) throws {
        try write(Int64(writing) | Int64(reading) << 32, at: 8)
    }

    private func write(_ value: Int64, at offset: UInt64) throws {
        let handle = try FileHandle(forWritingTo: URL(filePath: control))
        try handle.seek(toOffset: offset)
        try handle.write(contentsOf: Data((0..<8).map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }))
        try handle.close()
    }

    private static let source = #"""
        #define _GNU_SOURCE
        #include <dlfcn.h>
        #include <errno.h>
        #include <fcntl.h>
        #include <stdint.h>
        #include <stdio.h>
        #include <stdlib.h>
        #include <string.h>
        #include <sys/mman.h>
        #include <sys/time.h>
        #include <time.h>
        #include <unistd.h>

        struct control { int64_t seconds; int32_t writing, reading; };
        static volatile struct control none, *control = &none;

        __attribute__((constructor)) static void begin(void) {
            const char *path = getenv("FAULTS_CONTROL");
            int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
            if (file < 0) return;
            void *map = mmap(NULL, sizeof none, PROT_READ, MAP_SHARED, file, 0);
            if (map != MAP_FAILED) control = map;
            close(file);
        }

        #define REAL(name) ({ static __typeof__(&name) real; if (!real) real = dlsym(RTLD_NEXT, #name); real; })

        int clock_gettime(clockid_t clock, struct timespec *time) {
            int result = REAL(clock_gettime)(clock, time);
            if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) time->tv_sec += control->seconds;
            return result;
        }
        int gettimeofday(struct timeval *time, void *zone) {
            int result = REAL(gettimeofday)(time, zone);
            if (result == 0 && time) time->tv_sec += control->seconds;
            return result;
        }
        time_t time(time_t *out) {
            struct timespec now;
            clock_gettime(CLOCK_REALTIME, &now);
            if (out) *out = now.tv_sec;
            return now.tv_sec;
        }

        static int is_store(int file) {
            char link[64], path[4096];
            snprintf(link, sizeof link, "/proc/self/fd/%d", file);
            ssize_t length = readlink(link, path, sizeof path - 1);
            if (length <= 0) return 0;
            path[length] = 0;
            return strstr(path, "/herald.db") != NULL;
        }
        #define FAIL(kind, file) do { int code = control->kind; if (code && is_store(file)) { errno = code; return -1; } } while (0)

        ssize_t write(int file, const void *bytes, size_t count) {
            FAIL(writing, file); return REAL(write)(file, bytes, count);
        }
        ssize_t pwrite(int file, const void *bytes, size_t count, off_t offset) {
            FAIL(writing, file); return REAL(pwrite)(file, bytes, count, offset);
        }
        ssize_t pwrite64(int file, const void *bytes, size_t count, off64_t offset) {
            FAIL(writing, file); return REAL(pwrite64)(file, bytes, count, offset);
        }
        int fsync(int file) { FAIL(writing, file); return REAL(fsync)(file); }
        int fdatasync(int file) { FAIL(writing, file); return REAL(fdatasync)(file); }
        int ftruncate(int file, off_t length) { FAIL(writing, file); return REAL(ftruncate)(file, length); }
        int ftruncate64(int file, off64_t length) { FAIL(writing, file); return REAL(ftruncate64)(file, length); }
        ssize_t pread(int file, void *bytes, size_t count, off_t offset) {
            FAIL(reading, file); return REAL(pread)(file, bytes, count, offset);
        }
        ssize_t pread64(int file, void *bytes, size_t count, off64_t offset) {
            FAIL(reading, file); return REAL(pread64)(file, bytes, count, offset);
        }
        """#
}
