import Delivery
import FCMWire
import JSON
import PushModel
import Store

extension ProjectCall {
    /// Who makes and deletes channels.
    func channels() throws(FCMError) -> ChannelController {
        guard let channels = services.channels else {
            throw FCMError(.unavailable, "This gateway has no way to the management of channels.")
        }
        return channels
    }

    /// The app and environment that a request names: of a project with one Apple app that one, and the app's own
    /// environment, when it says nothing.
    ///
    /// - Parameters:
    ///   - appField: the field that names the app, for errors; `environmentField` likewise.
    func channelHome(
        app bundleID: String?, environment: String?, in appField: String, _ environmentField: String
    ) throws(FCMError) -> ChannelHome {
        let found = try channelApp(bundleID, field: appField)
        var home = ChannelHome(project: project.id, app: found.app.id, environment: found.service.environment)
        if let environment {
            guard let named = PushEnvironment(rawValue: environment.lowercased()) else {
                throw .badRequest(
                    environmentField, "The environment is production or sandbox, not '\(environment.excerpt)'.")
            }
            home.environment = named
        }
        return home
    }

    private func channelApp(
        _ bundleID: String?, field: String
    ) throws(FCMError) -> (app: App, service: DeviceService) {
        if let bundleID { return try project.appleApp(bundleID, field: field) }
        let reached = project.apps.values.filter { $0.deviceService != nil }
        guard reached.count == 1, let only = reached.first, let service = only.deviceService else {
            throw .badRequest(
                field, "The project has \(reached.count) apps that APNs reaches: name one of them by its bundle id.")
        }
        return (only, service)
    }

    /// The channel that path and query name.
    func namedChannel() throws(FCMError) -> (name: ChannelName, home: ChannelHome) {
        let query = query
        let home = try channelHome(
            app: query["app"], environment: query["environment"], in: "app", "environment")
        return (try ChannelName(try parameter("channel"), field: "name"), home)
    }

    /// The channel that `target` names.
    ///
    /// - Throws: 404 for one that is not there, FAILED_PRECONDITION for one that is lost or still being made.
    func channelRegistration(_ target: ChannelTarget) async throws(FCMError) -> Registration {
        let home = try channelHome(
            app: target.app, environment: target.environment, in: "target.app", "target.environment")
        let channel: BroadcastChannel?
        do throws(StoreError) {
            channel = try await services.store.channel(target.name, in: home)
        } catch {
            throw FCMError(error)
        }
        guard let channel else { throw .noChannel(target.name, home) }
        guard channel.state == .active, let id = channel.registration else { throw .unusableChannel(channel) }
        do throws(StoreError) {
            guard let registration = try await services.store.channelRegistration(id, in: project.id) else {
                throw StoreError(.unavailable, "The channel went away while the message was accepted.")
            }
            return registration
        } catch {
            throw FCMError(error)
        }
    }

    /// What the audit log keeps of something that was done to a channel.
    func channelAudit(_ action: AuditAction, _ name: ChannelName, _ home: ChannelHome) -> AuditEntry {
        AuditEntry(
            time: now, project: project.id, action: action, subject: name.rawValue,
            details: ["app": home.app.rawValue, "environment": home.environment.rawValue], credential: credential)
    }
}

extension ChannelName {
    /// Reads a name.
    ///
    /// - Throws: INVALID_ARGUMENT that names `field`.
    init(_ text: String, field: String) throws(FCMError) {
        guard let name = ChannelName(rawValue: text) else {
            throw .badRequest(field, "A channel's name is \(Self.expectation), not '\(text.excerpt)'.")
        }
        self = name
    }
}

extension FCMError {
    /// No such channel.
    static func noChannel(_ name: ChannelName, _ home: ChannelHome) -> FCMError {
        FCMError(
            .notFound, "The app \(home.app) has no channel \(name) in the environment \(home.environment.rawValue).")
    }

    /// A channel that nothing can be published to.
    static func unusableChannel(_ channel: BroadcastChannel) -> FCMError {
        let text =
            switch channel.state {
            case .lost(let since):
                "APNs has no such channel any more (since \(since.rfc3339)): make it anew; apps have to subscribe again."
            case .creating, .active:
                "Whether APNs made it is not known: make it again, and look for its former self with channels.list."
            }
        return FCMError(
            .failedPrecondition, "The channel \(channel.name) can't be published to. \(text)", reason: .channelUnusable)
    }

    /// Why channels could not be made, read or deleted.
    init(_ problem: ChannelProblem, _ name: ChannelName?, _ home: ChannelHome) {
        let title = "\(name.map { "The channel \($0)" } ?? "A channel") of \(home.app)"
        switch problem {
        case .store(let error): self.init(error)
        case .busy:
            self.init(.unavailable, "\(title) is being made or deleted by another request. Ask again.")
        case .full(let count):
            self.init(
                .resourceExhausted,
                "The app \(home.app) has \(count) channels in \(home.environment.rawValue), and may have "
                    + "\(ChannelController.limit): delete those of what is over.")
            quotaSubject = "app:\(home.app)"
        case .otherPolicy(let channel):
            self.init(
                .alreadyExists,
                "\(title) has the storage policy \(channel.storagePolicy.rawValue), which can't be changed: "
                    + "delete it and make another.")
            violations = [FieldViolation(field: "storagePolicy", description: message)]
        case .otherID(let channel):
            self.init(.alreadyExists, "\(title) is \(channel.id?.rawValue ?? "another one").")
            violations = [FieldViolation(field: "channelId", description: message)]
        case .idTaken(let id, let other):
            self.init(.alreadyExists, "\(id.rawValue) is the channel \(other) of \(home.app).")
            violations = [FieldViolation(field: "channelId", description: message)]
        case .policyAtService(let policy):
            self = .badRequest(
                "storagePolicy", "The channel that is to be taken over has the storage policy \(policy.rawValue).")
        case .service(let failure): self.init(failure, title)
        }
    }

    private init(_ failure: ChannelFailure, _ title: String) {
        switch failure.cause {
        case .notSent(.noRoute): self.init(.thirdPartyAuthError, failure.text, reason: .noUpstream)
        case .notSent: self.init(.unavailable, "APNs could not be asked (\(failure.text)). Nothing was done.")
        case .unknown:
            self.init(
                .unavailable,
                "APNs gave no answer (\(failure.text)): whether it was done is not known; the list of channels says it."
            )
        case .refused(let refusal):
            switch refusal.scope {
            case .credential, .topic, .connection(.credential), .connection(.tokenExpired):
                self.init(.thirdPartyAuthError, "\(title): \(failure.text)")
            case .load where refusal.reason == Reason(rawValue: "CannotCreateChannelConfig"):
                self.init(.resourceExhausted, "\(title): \(failure.text)")
                quotaSubject = "app"
            case .addressDead, .addressDoubtful:
                self.init(.notFound, "\(title): \(failure.text)")
            case .load, .connection: self.init(.unavailable, "\(title): \(failure.text)")
            case .push: self.init(.failedPrecondition, "\(title): \(failure.text)", reason: .pushRefused)
            }
            metadata = ["apnsReason": refusal.reason.rawValue.excerpt]
        }
        if let after = failure.retryAfter { retryAfterSeconds = Int(after.components.seconds) }
    }
}

extension ChannelFailure {
    /// Why, in words.
    var text: String {
        switch cause {
        case .refused(let refusal): meaning ?? "APNs answered \(refusal.reason.rawValue.excerpt)."
        case .notSent(let cause), .unknown(let cause): cause.rawValue
        }
    }
}
