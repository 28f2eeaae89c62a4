#if PostgreSQL
    import Testing

    @testable import herald

    /// For how many standbys a commit waits.
    struct DurabilityCheckTests {
        @Test(arguments: [
            ("ANY 2 (a, b, c)", 2), ("any 1 (a)", 1), ("FIRST 3 (a, b, c)", 3), ("2 (a, b)", 2), ("2(a, b)", 2),
            ("a, b", 1), ("*", 1), ("first_one", 1), ("ANY 2(a, b)", 2),
        ])
        func standbysAreCountedAsTheServerCountsThem(names: String, count: Int) {
            #expect(DurabilityCheck.waitedFor(names) == count)
        }
    }
#endif
