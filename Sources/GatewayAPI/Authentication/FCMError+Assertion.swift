import Store

extension FCMError {
    /// A JWT that proves no service account.
    init(_ problem: Assertion.Problem) {
        if case .store(let error) = problem {
            self.init(error)
        } else {
            self = .unusableToken(problem.text, reason: problem.reason)
        }
    }
}
