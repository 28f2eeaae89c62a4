import PushModel
import Store

/// What a submission comes to: its recipients, its finished pushes, and every rule that it breaks.
struct SubmissionPlan {
    /// The id that it would have.
    let id: MessageID
    /// How long it is worth delivering: as long as on the platform where that is longest.
    let life: Lifetime
    /// To whom, as the store takes it.
    let recipient: Recipient<RegistrationKey, [RegistrationKey]>
    /// The queue that its pushes wait in.
    let lane: Lane
    /// What it says to each app that it may reach: each has its own bytes and so its own size.
    let pushes: [AppKey: any ComposedPush]
    /// What is wrong with it, one for each app that it can't be built for; empty: nothing.
    let violations: [InvalidMessage]
    /// What it counts for against the limits: about what the store will keep.
    let bytes: Int
    /// What reports show of it.
    let facts: MessageFacts
    /// The same of each platform, where it differs between those that it may reach.
    let platforms: [Platform: PlatformFacts]
    /// The routes of a single registration; of others they are not known.
    let routes: [PushRoute]
    /// How many single deliveries the store makes of it; 0 for a fan-out.
    let singles: Int

    /// Plans a submission that is accepted at `now` as `id`.
    init(of submission: Submission, id: MessageID, acceptedAt now: Timestamp, composer: any PushComposer) {
        self.id = id
        let lives = submission.lives(acceptedAt: now)
        life =
            lives.values.max { $0.expiresAt < $1.expiresAt }
            ?? Lifetime(of: submission.content, on: .apple, acceptedAt: now)
        let keys = submission.recipient.keys
        recipient = submission.recipient.map(\.key) { _ in keys }
        let (pushes, violations) = submission.composed(as: id, acceptedAt: now, for: lives, by: composer)
        self.pushes = pushes
        self.violations = violations
        let push = submission.apps.lazy.compactMap { pushes[$0] }.first
        let priority = push?.priority ?? .immediate
        let isFew =
            switch recipient {
            case .registration: true
            case .topic, .condition: false
            case .list, .user: keys.count <= NewMessage.smallListLimit
            }
        let isUrgent = priority == .immediate && !submission.isOfLargeBatch || submission.isAwaited
        lane = isFew && isUrgent ? .interactive : .bulk
        singles = isFew ? max(1, keys.count) : 0
        bytes = (push?.payload.count ?? 0) + MemoryLayout<Int64>.size * keys.count
        facts = MessageFacts(
            label: submission.content.label, isDisplayed: submission.content.isDisplayed,
            collapseKey: push?.collapseKey(in: id),
            priority: priority.rawValue, timeToLiveSeconds: life.timeToLiveSeconds,
            credential: submission.credential)
        platforms = Self.platforms(submission.apps, lives, pushes, of: id)
        if case .registration(let registration) = submission.recipient {
            routes = [
                PushRoute(
                    project: submission.project.id, app: registration.app, channel: registration.channel)
            ]
        } else {
            routes = []
        }
    }
}

extension SubmissionPlan {
    /// What it is on each platform; empty: the same on all.
    private static func platforms(
        _ apps: [AppKey], _ lives: [Platform: Lifetime], _ pushes: [AppKey: any ComposedPush], of id: MessageID
    ) -> [Platform: PlatformFacts] {
        var facts: [Platform: PlatformFacts] = [:]
        for app in apps where facts[app.platform] == nil {
            guard let push = pushes[app], let life = lives[app.platform] else { continue }
            facts[app.platform] = PlatformFacts(
                collapseKey: push.collapseKey(in: id), priority: push.priority.rawValue,
                timeToLiveSeconds: life.timeToLiveSeconds, expiresAt: life.expiresAt)
        }
        return Set(facts.values).count > 1 ? facts : [:]
    }
}

extension ComposedPush {
    /// What the sender says of what it replaces: the gateway's own collapse id is none of the sender's.
    fileprivate func collapseKey(in message: MessageID) -> String? {
        collapseID.flatMap { $0 == message.rawValue ? nil : $0 }
    }
}

extension Recipient where One == Registration, Many == [Addressee] {
    /// The registrations that are named, each once, in the order of the store.
    fileprivate var keys: [RegistrationKey] {
        switch self {
        case .registration, .topic, .condition: []
        case .list(let addressees), .user(_, let addressees):
            Set(addressees.map(\.key)).sorted()
        }
    }

    /// The field of the request that names it.
    fileprivate var field: String {
        switch self {
        case .registration(let registration): registration.id.isOfChannel ? "target.channel" : "message.token"
        case .topic: "message.topic"
        case .condition: "message.condition"
        case .list: "tokens"
        case .user: "target.user"
        }
    }
}

extension Recipient where One == Registration {
    /// What is stored of publications to the channel that it is; `nil`: it is none.
    fileprivate var storagePolicy: StoragePolicy? {
        guard case .registration(let registration) = self, case .broadcast(let address) = registration.address else {
            return nil
        }
        return address.storagePolicy
    }
}

extension Submission {
    /// The apps that it may reach, in the order of their ids.
    fileprivate var apps: [AppKey] {
        switch recipient {
        case .registration(let registration): [registration.appKey]
        case .topic, .condition: project.apps.keys.sorted()
        case .list(let addressees), .user(_, let addressees):
            Set(addressees.map(\.app)).sorted()
        }
    }

    /// How long it is worth delivering on each platform that it may reach.
    fileprivate func lives(acceptedAt now: Timestamp) -> [Platform: Lifetime] {
        let served = apps.filter { project.apps[$0]?.isServed ?? false }
        return Dictionary(
            Set((served.isEmpty ? apps : served).map(\.platform)).map { platform in
                let life = Lifetime(
                    of: content, on: platform, acceptedAt: now, isBroadcast: recipient.storagePolicy != nil)
                return (platform, life)
            }, uniquingKeysWith: { first, _ in first })
    }

    /// The push of every app, and what is wrong.
    fileprivate func composed(
        as id: MessageID, acceptedAt now: Timestamp, for lives: [Platform: Lifetime], by composer: any PushComposer
    ) -> (pushes: [AppKey: any ComposedPush], violations: [InvalidMessage]) {
        var violations = recipientViolations.map { [$0] } ?? []
        var pushes: [AppKey: any ComposedPush] = [:]
        var topic: Topic?
        if case .topic(let name) = recipient { topic = name }
        for key in apps {
            guard let app = project.apps[key] else {
                violations.append(
                    InvalidMessage(
                        recipient.field,
                        "The registration belongs to the app \(key.id), which project \(project.id) does not have."))
                continue
            }
            // Nothing is composed for an app that nothing is sent to.
            guard app.isServed, let life = lives[key.platform] else { continue }
            do throws(InvalidMessage) {
                var context = PushContext(
                    message: id, projectNumber: project.number, broadcastTopic: topic,
                    isForMany: recipient.isMany, collapsesRepeats: options.collapsesRepeats,
                    broadcast: recipient.storagePolicy, app: app, expiresAt: life.expiresAt, acceptedAt: now)
                context.isDryRun = isDryRun
                pushes[key] = try composer.compose(content, in: context)
            } catch {
                violations.append(error)
            }
        }
        return (pushes, violations)
    }

    /// What is wrong with whom it goes to.
    private var recipientViolations: InvalidMessage? {
        switch recipient {
        case .registration(let registration) where registration.project != project.id:
            InvalidMessage(recipient.field, "The registration is not of project \(project.id).")
        case .topic where project.apps.isEmpty, .condition where project.apps.isEmpty:
            InvalidMessage(recipient.field, "The project \(project.id) has no apps to send to.")
        case .list(let addressees) where addressees.isEmpty, .user(_, let addressees) where addressees.isEmpty:
            InvalidMessage(recipient.field, "There is no active registration to send to.")
        case .list(let addressees) where addressees.count > NewMessage.listLimit,
            .user(_, let addressees) where addressees.count > NewMessage.listLimit:
            InvalidMessage(
                recipient.field,
                "A message goes to at most \(NewMessage.listLimit) registrations that it names; these are "
                    + "\(addressees.count).")
        case .registration, .topic, .condition, .list, .user: nil
        }
    }
}

extension InvalidMessage {
    /// One wrong field.
    fileprivate init(_ field: String, _ description: String) {
        self.init([FieldViolation(field: field, description: description)])
    }
}
