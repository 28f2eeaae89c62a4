import HTTP2Client
import Logging
import PushModel

/// What the decisions ask for.
extension Upstream {
    func act(on actions: [UpstreamHealth.Action]) {
        for action in actions {
            switch action {
            case .tell(let problem):
                logger.warning(
                    "upstream has a problem",
                    metadata: ["reason": "\(problem.name)", "detail": "\(problem.detail)"])
            case .tellRecovery(let name):
                logger.notice("upstream works again", metadata: ["reason": "\(name)"])
            case .recycle: break  // done by the control, which knows when that was last
            }
        }
    }

    func act(on actions: [UpstreamControl.Action]) {
        for action in actions {
            switch action {
            case .tellPause(let part, let reason, let detail):
                logger.warning(
                    "pushes are held back",
                    metadata: ["part": "\(part.text)", "reason": "\(reason)", "detail": "\(detail)"])
                // What waits for a stream would be refused, one by one.
                pools.reconsider()
            case .tellEnd(let part, let reason):
                logger.notice("pushes go again", metadata: ["part": "\(part.text)", "reason": "\(reason)"])
            case .replaceConnections:
                logger.debug("replacing the upstream's connections")
                pools.recycleConnections()
            case .restartSlowly(let reason):
                pace.restartSlowly(after: reason)
            }
        }
    }

    func tell(_ action: ClockSkew.Action) {
        switch action {
        case .tell(let skew):
            logger.warning(
                "the clock differs from APNs'; provider tokens may be refused",
                metadata: ["skew": "\(skew.components.seconds) s"])
        case .tellEnd(let skew):
            logger.notice("the clock agrees with APNs' again", metadata: ["skew": "\(skew.components.seconds) s"])
        }
    }

    func tell(_ reason: APNSReason, status: Int) {
        logger.warning(
            "APNs gave a reason that is not known; its status decides",
            metadata: ["reason": "\(reason)", "status": "\(status)"])
    }
}

extension UpstreamPause.Part {
    /// For log lines.
    fileprivate var text: String {
        switch self {
        case .everything: "everything"
        case .topic(let topic): "topic \(topic)"
        case .route(let route): "\(route.app) \(route.environment.rawValue)"
        case .suspects(let route): "\(route.app) \(route.environment.rawValue), unproven device tokens"
        }
    }
}
