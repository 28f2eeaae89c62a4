extension Duration {
    /// For libraries that want a limit where the test claims nothing of time: longer than any test may take. One that
    /// hangs ends with its own time limit, which says which one it was; a busy machine fails none.
    package static let longerThanAnyTest = Duration.seconds(3600)
}
