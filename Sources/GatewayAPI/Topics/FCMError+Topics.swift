import PushModel

extension FCMError {
    /// A registration that has all the topics it may have.
    static var tooManyTopics: FCMError {
        var error = FCMError(
            .resourceExhausted,
            "The registration is subscribed to \(Topic.limitPerRegistration) topics, the most it may be.",
            reason: .tooManyTopics)
        error.quotaSubject = "topics per registration"
        return error
    }
}
