#if HERALD_THREAD_SANITIZER || HERALD_ADDRESS_SANITIZER
    import Foundation
    import Testing

    @testable import HTTP2Client

    /// Faults on purpose: `.ci/sanitize` runs each alone and demands that the sanitizer reports it, so that a run without
    /// reports means something.
    struct PlantedFaultTests {
        private static func isWanted(_ fault: String) -> Bool {
            ProcessInfo.processInfo.environment["HERALD_PLANT"] == fault
        }

        #if HERALD_THREAD_SANITIZER
            /// @unchecked Sendable, because: it is wrong, which is the point.
            private final class Counter: @unchecked Sendable {
                var count = 0
            }

            @Test(.enabled(if: isWanted("race"))) func twoThreadsCountWithoutALock() async throws {
                let counter = Counter()
                let ends = [Latch(), Latch()]
                for end in ends {
                    try startThread(named: "race") {
                        for _ in 0..<10_000 { counter.count += 1 }
                        end.open()
                    }
                }
                for end in ends { await end.wait() }
                #expect(counter.count > 0)
            }
        #else
            @Test(.enabled(if: isWanted("leak"))) func memoryIsForgotten() {
                for size in 5000..<5100 { #expect(unsafe Self.firstByte(of: .allocate(capacity: size)) == 7) }
            }

            @Test(.enabled(if: isWanted("use-after-free"))) func memoryIsReadAfterItsEnd() {
                let memory = UnsafeMutablePointer<UInt8>.allocate(capacity: 100)
                #expect(unsafe Self.firstByte(of: memory) == 7)
                unsafe memory.deallocate()
                #expect(unsafe Self.firstByte(of: memory) == 7)
            }

            /// Not inlined: the optimizer knows what memory holds that was just written, and would not read it.
            @inline(never) private static func firstByte(of memory: UnsafeMutablePointer<UInt8>) -> UInt8 {
                unsafe memory.pointee &= 0
                unsafe memory.pointee += 7
                return unsafe memory.pointee
            }
        #endif
    }
#endif
