import Delivery
import Hummingbird
import Logging
import PushModel
import Store

/// Pause, resume and cancel of a message: our own methods beside FCM's, in Google's form.
enum ControlRoutes {
    static let all: [Route] = MessageControl.allCases.map { control in
        .project(.post, "messages/{message}:\(control.rawValue)", .control) { call in
            try await respond(call, control)
        }
    }

    /// Does it, and answers with the message's report.
    private static func respond(_ call: ProjectCall, _ control: MessageControl) async throws -> Response {
        let body = try await call.json(allowsEmpty: true)
        try body.refuseUnknown(except: [])
        guard let id = MessageID(rawValue: try call.parameter("message")),
            let state = try await call.services.controller.control(
                id, in: call.project.id, control, by: call.credential)
        else { throw FCMError(.notFound) }
        guard control.allows(state) else {
            throw FCMError(
                .failedPrecondition, "The message is \(state.rawValue): there is nothing left to \(control.rawValue).")
        }
        call.logger.notice(
            "message controlled",
            metadata: ["message.id": "\(id)", "control": "\(control)", "state": "\(state)"].with(call.credential))
        return try await call.report(of: id)
    }
}

extension MessageControl {
    /// Whether `state`, in which a message is afterwards, is one that was asked for: what is complete or cancelled stays
    /// so, and asking again for what is already so is no error.
    fileprivate func allows(_ state: MessageState) -> Bool {
        switch (self, state) {
        case (.pause, .paused), (.resume, .active), (.cancel, .cancelled): true
        case (.pause, _), (.resume, _), (.cancel, _): false
        }
    }
}
