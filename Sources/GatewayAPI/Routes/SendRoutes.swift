import Delivery
import Hummingbird
import Logging
import PushModel
import Store

/// `POST /v1/projects/{p}/messages:send`, as FCM has it.
enum SendRoutes {
    // FCM's messages end at 4096 bytes of payload for each platform; blocks of other platforms may stand beside.
    static let all: [Route] = [.project(.post, "messages:send", .send, send).limited(toBytes: 64 << 10)]

    @Sendable private static func send(_ call: ProjectCall) async throws -> Response {
        let request = try SendRequest(await call.call.json())
        let submission = MessageAcceptor.Submission(
            project: call.project, recipient: try await recipient(of: request.target, call), content: request.content)
        let id = try await request.validatesOnly ? check(submission, call) : accept(submission, call)
        return Response(json: .object([.init("name", .string("\(call.projectName)/messages/\(id)"))]))
    }

    private static func accept(
        _ submission: MessageAcceptor.Submission, _ call: ProjectCall
    ) async throws(FCMError) -> MessageID {
        do {
            let message = try await call.services.acceptor.accept(submission)
            call.call.logger.debug(
                "Message accepted",
                metadata: [
                    "message.id": "\(message.id)", "project.id": "\(call.project.id)", "lane": "\(message.lane)",
                ])
            return message.id
        } catch {
            throw FCMError(error, project: call.project)
        }
    }

    private static func check(
        _ submission: MessageAcceptor.Submission, _ call: ProjectCall
    ) throws(FCMError) -> MessageID {
        do {
            return try call.services.acceptor.check(submission)
        } catch {
            throw FCMError(error, project: call.project)
        }
    }

    private static func recipient(
        of target: Target, _ call: ProjectCall
    ) async throws -> MessageAcceptor.Submission.Recipient {
        let name: RegistrationReference
        switch target {
        case .topic(let topic): return .topic(topic)
        case .registration(let id): name = .id(id)
        case .token(let text):
            guard let parsed = RegistrationReference(rawValue: text) else {
                throw FCMError.invalid(
                    "message.token", "The registration token is not a valid FCM registration token")
            }
            name = parsed
        }
        // Ended, unknown and another project's are one answer: nothing is revealed.
        guard let registration = try await name.find(in: call.project, call.services.store),
            registration.isAddressable(at: call.now)
        else { throw FCMError(.unregistered) }
        return .registration(registration)
    }
}

/// The body of a send request: `{message, validate_only}`.
struct SendRequest: Sendable {
    /// What to send.
    let content: MessageContent
    /// To whom.
    let target: Target
    /// Whether nothing is to be kept.
    let validatesOnly: Bool

    /// Decodes a body.
    init(_ body: ObjectReader) throws(FCMError) {
        try body.refuseUnknown(except: ["message", "validate_only"])
        validatesOnly = try body.bool("validate_only") ?? false
        guard let message = body.value("message") else {
            throw .invalid("message", "The message is missing.")
        }
        _ = try body.object("message", type: "type.googleapis.com/google.firebase.fcm.v1.Message")
        do {
            content = try MessageContent(source: message)
            target = try MessageContent.target(of: message)
        } catch {
            throw FCMError(error)
        }
    }
}

extension RegistrationReference {
    /// The registration, also an ended one.
    func find(
        in project: Project, _ store: any RegistrationStore
    ) async throws(StoreError) -> Registration? {
        switch self {
        case .id(let id): try await store.registration(id, in: project.id)
        case .token(let token): try await store.registration(token: token, in: project.id)
        }
    }
}
