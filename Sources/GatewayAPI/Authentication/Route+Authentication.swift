import Delivery
import Hummingbird
import PushModel
import Store

extension Route {
    /// The largest body of a request that is brief.
    private static var briefBytes: Int { 16 << 10 }

    /// Finds out who calls and whether they may, then answers: on the event loop of the connection when that takes no
    /// longer than its other connections may wait.
    func respond(to call: Call, authenticator: Authenticator) async throws -> Response {
        guard !isBrief || call.announcedBytes > Self.briefBytes else {
            return try await answer(call, authenticator)
        }
        return try await withTaskExecutorPreference(globalConcurrentExecutor) {
            try await answer(call, authenticator)
        }
    }

    private func answer(_ call: Call, _ authenticator: Authenticator) async throws -> Response {
        switch scope {
        case .open(let handle):
            return try await handle(call)
        case .project(let access, let handle):
            let caller = try await authenticator.caller(of: call)
            let name = try call.parameter("project")
            let project: Project
            do throws(FCMError) {
                project = try foreignChecked(
                    call.services.projects.project(named: name), caller, among: call.services.projects)
            } catch {
                throw error.hinting(SenderHint.project(name, of: caller.project))
            }
            try access.check(caller)
            try call.checkRate(of: caller)
            return try await handle(ProjectCall(call: limited(call, for: caller), project: project, caller: caller))
        case .keyProject(let access, let handle):
            let caller = try await authenticator.caller(of: call, takesQueryKey: takesQueryKey)
            let project = try foreignChecked(
                call.services.projects.project(caller.project), caller, among: call.services.projects)
            try access.check(caller)
            try call.checkRate(of: caller)
            return try await handle(ProjectCall(call: limited(call, for: caller), project: project, caller: caller))
        }
    }

    /// The call with the body limit of the caller's role. Backends' bodies are not counted: clients take no room from them.
    private func limited(_ call: Call, for caller: Caller) -> Call {
        var call = call
        if caller.role == .client {
            call.bodyLimitBytes = min(call.bodyLimitBytes, clientBodyLimitBytes)
        } else {
            call.bodies = nil
        }
        return call
    }

    // An unknown project and one of someone else's give the same answer: nothing is revealed. That a caller's own is not
    // configured is told: a sender that took it for a mismatch would forget good tokens.
    private func foreignChecked(
        _ project: Project?, _ caller: Caller, among projects: ProjectDirectory
    ) throws(FCMError) -> Project {
        guard projects.project(caller.project) != nil else { throw .projectNotConfigured(caller) }
        guard let project, project.id == caller.project else {
            throw isSend ? FCMError(.senderIDMismatch) : .wrongProject(caller)
        }
        return project
    }
}
