/// Why one item of a batch failed; the names that Admin SDKs know.
enum ItemError: String, Sendable {
    /// The registration is unknown or ended.
    case notFound = "NOT_FOUND"
    /// The text is no token, or one of another project.
    case invalidArgument = "INVALID_ARGUMENT"
    /// The caller may not name a registration in this way.
    case permissionDenied = "PERMISSION_DENIED"
    /// A client changes the registration too often.
    case resourceExhausted = "RESOURCE_EXHAUSTED"
    /// The registration has all the topics it may have, or the project all that its clients may make.
    case tooManyTopics = "TOO_MANY_TOPICS"
}
