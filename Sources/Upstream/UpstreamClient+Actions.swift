import HTTP2Client
import Logging
import PushModel

/// What the decisions ask for.
extension UpstreamClient {
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

    func act(on actions: [ControlAction]) {
        for action in actions {
            switch action {
            case .tellPause(let part, let refusal, let detail):
                logger.warning(
                    "pushes are held back",
                    metadata: ["part": "\(part.text)", "reason": "\(refusal.reason)", "detail": "\(detail)"])
                // What waits for a stream would be refused, one by one.
                pools.reconsider()
            case .tellEnd(let part, let refusal):
                logger.notice("pushes go again", metadata: ["part": "\(part.text)", "reason": "\(refusal.reason)"])
            case .replaceConnections:
                logger.debug("replacing the upstream's connections")
                pools.recycleConnections()
            case .restartSlowly(let refusal):
                congestion.restartSlowly(after: refusal)
            }
        }
    }

    func tell(_ action: ClockSkew.Action) {
        switch action {
        case .tell(let skew):
            logger.warning(
                "the clock differs from that of \(service.name); tokens may be refused",
                metadata: ["skew": "\(skew.components.seconds) s"])
        case .tellEnd(let skew):
            logger.notice(
                "the clock agrees with that of \(service.name) again",
                metadata: ["skew": "\(skew.components.seconds) s"])
        }
    }

    func tell(_ reason: Reason, status: Int) {
        logger.warning(
            "\(service.name) gave a reason that is not known; its status decides",
            metadata: ["reason": "\(reason)", "status": "\(status)"])
    }
}

extension UpstreamPause.Part {
    /// For log lines.
    fileprivate var text: String {
        switch self {
        case .everything: "everything"
        case .topic(let topic): "topic \(topic)"
        case .route(let route): "\(route.app) \(route.channel)"
        case .suspects(let route): "\(route.app) \(route.channel), unproven device tokens"
        }
    }
}
