import PushModel
import Store
import Traces

/// A message on its way into the store. One object, since its parts are many.
final class PreparedSubmission {
    var message: NewMessage
    /// The apps as they were when it was composed for them.
    let apps: [AppKey: App]
    /// What it says to the devices of each app that it may reach.
    let pushes: [AppKey: any ComposedPush]
    /// What it counts for against the limits.
    let bytes: Int
    /// The ways of its single deliveries, as far as they are known.
    let routes: [PushRoute]
    /// How many single deliveries it makes.
    let singles: Int
    /// Whether the caller waits for the end.
    let isAwaited: Bool
    /// The request that it came with, for its trace.
    let origin: RequestTrace?
    /// Whether the caller wanted to wait and can't.
    var isWaitRefused = false

    init(_ message: NewMessage, _ plan: SubmissionPlan, of submission: Submission) {
        self.message = message
        apps = submission.project.apps
        origin = submission.origin
        pushes = plan.pushes
        bytes = plan.bytes
        routes = plan.routes
        singles = plan.singles
        isAwaited = submission.isAwaited
    }
}
