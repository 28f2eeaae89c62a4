import Foundation

extension Messaging {
    /// Has the loop look whether there is something to do. The one place where a task is begun: it ends when there is
    /// nothing to do, or begins again when a timer ends.
    func wake() {
        guard options != nil else { return }
        let begins = state.withLock { state in
            state.timer?.cancel()
            state.timer = nil
            state.isWoken = true
            guard !state.isRunning else { return false }
            state.isRunning = true
            return true
        }
        if begins { Task { await run() } }
    }

    /// One request after the other, until there is none.
    private func run() async {
        while true {
            state.withLock { $0.isWoken = false }
            load()
            collectReceipts()
            await announce()
            keep()
            switch step() {
            case .send(let request): await send(request)
            case .tell(let effects): for effect in effects { await perform(effect) }
            case .wait(let time): if pause(until: time) { return }
            }
        }
    }

    private func step() -> MessagingAction {
        let now = clock.now()
        return state.withLock { $0.core?.next(at: now) ?? .wait(until: nil) }
    }

    private func send(_ request: MessagingRequest) async {
        guard let gateway else { return }
        let (answer, serverTime) = await gateway.send(request)
        let (now, jitter) = (clock.now(), clock.jitter())
        let effects = state.withLock { state in
            state.core?.settle(answer, serverTime: serverTime, at: now, jitter: jitter) ?? []
        }
        // What is kept comes first: who hears of an answer may end the process.
        keep()
        for effect in effects { await perform(effect) }
    }

    /// Ends the loop, unless something happened meanwhile, and sets the timer that begins it again.
    private func pause(until time: Date?) -> Bool {
        let delay = time.map { max(0, $0.timeIntervalSince(clock.now())) }
        let (isPaused, outcomes, error) = state.withLock { state in
            guard !state.isWoken else { return (false, [MessagingWaiters.Outcome](), MessagingError?.none) }
            state.isRunning = false
            if let delay { state.timer = Task { [weak self] in await self?.wake(after: delay) } }
            return (true, state.waiters.take(.pause), nil)
        }
        for outcome in outcomes { outcome(error) }
        return isPaused
    }

    private func wake(after delay: TimeInterval) async {
        do {
            try await clock.sleep(delay)
        } catch {
            // Cancelled: something else has woken the loop.
            return
        }
        wake()
    }

    // MARK: Storage

    /// Reads what is kept. What can't be read because the device is locked is read the next time; what is damaged begins
    /// anew.
    func load() {
        guard let options, let storage, state.withLock({ $0.core == nil }) else { return }
        do {
            let data = try storage.read()
            var record = MessagingRecord()
            do {
                if let data { record = try JSONDecoder().decode(MessagingRecord.self, from: data) }
            } catch {
                note(
                    MessagingError(.unknown, "What was kept can't be read; the app registers anew.", underlying: error))
            }
            begin(with: record, isKept: data != nil, options)
        } catch {
            note(MessagingError(.unknown, "What is kept can't be read now.", underlying: error))
        }
    }

    private func begin(with record: MessagingRecord, isKept: Bool, _ options: HeraldOptions) {
        state.withLock { state in
            guard state.core == nil else { return }
            var core = RegistrationState(
                record.taken(to: MessagingRecord.Place(options)), appVersion: options.appVersion,
                isAutoInitEnabled: options.isAutoInitEnabled,
                isReceiptReportingEnabled: options.isReceiptReportingEnabled)
            for event in state.early { event(&core) }
            state.early = []
            state.core = core
            state.lastToken = core.registration?.token
            if isKept { state.kept = record }
        }
    }

    /// Writes what has changed since the last time.
    ///
    /// - Returns: whether all is written.
    @discardableResult
    private func keep() -> Bool {
        guard let storage, let record = state.withLock({ $0.core?.record == $0.kept ? nil : $0.core?.record })
        else { return true }
        do {
            let encoder = JSONEncoder()
            encoder.outputFormatting = .sortedKeys
            try storage.write(try encoder.encode(record))
            state.withLock { $0.kept = record }
            return true
        } catch {
            note(MessagingError(.unknown, "What is to be kept can't be written.", underlying: error))
            return false
        }
    }

    /// Takes over the receipts that the service extension laid aside.
    private func collectReceipts() {
        guard let storage, state.withLock({ $0.core != nil }) else { return }
        do {
            for (name, data) in try storage.laidReceipts() {
                // What is damaged is no receipt, and goes.
                if let receipt = try? JSONDecoder().decode(MessagingReceipt.self, from: data) {
                    state.withLock { $0.core?.add(receipt) }
                    // It stays where it lies until it is written: the next time it is the same receipt.
                    guard keep() else { return }
                }
                try storage.removeReceipt(named: name)
            }
        } catch {
            note(MessagingError(.unknown, "Receipts of the service extension can't be read.", underlying: error))
        }
    }

    private func note(_ error: MessagingError) { state.withLock { $0.lastError = error } }

    // MARK: Effects

    private func perform(_ effect: MessagingEffect) async {
        switch effect {
        case .registered(let registration):
            await announce()
            if isAnother(registration) { await post(.MessagingRegistrationTokenRefreshed) }
            finish(.registration, nil)
        case .registrationFailed(let error): finish(.registration, error)
        case .unregistered(let registration): await tellUnregistered(registration)
        case .topicSettled(let change, let error):
            finish(.topic(change.topic, isSubscription: change.isSubscription), error)
        case .userSettled(let change, let error): finish(.user(change), error)
        case .deletionSettled(let error): finish(.deletion, error)
        case .failed(let error): note(error)
        }
    }

    /// Whether the app had another token before, which it now has no more; also if it had none for a time, as when the gateway
    /// did not know the installation.
    private func isAnother(_ registration: AppRegistration) -> Bool {
        state.withLock { state in
            defer { state.lastToken = registration.token }
            return state.lastToken.map { $0 != registration.token } ?? false
        }
    }

    private func finish(_ subject: MessagingWaiters.Subject, _ error: MessagingError?) {
        let outcomes = state.withLock { $0.waiters.take(subject) }
        for outcome in outcomes { outcome(error) }
    }

    /// Tells the delegate of the token, once in a launch and when it changes.
    private func announce() async {
        let found = state.withLock { state -> (any MessagingDelegate, AppRegistration)? in
            guard let delegate = state.delegate.value, let registration = state.core?.registration,
                state.announced != registration.token
            else { return nil }
            state.announced = registration.token
            return (delegate, registration)
        }
        guard let (delegate, registration) = found else { return }
        let usesID = isInstallationIdEnabled
        await MainActor.run {
            if usesID {
                delegate.messaging(self, didReceiveRegistration: registration.id)
            } else {
                delegate.messaging(self, didReceiveRegistrationToken: registration.token)
            }
        }
    }

    private func tellUnregistered(_ registration: AppRegistration) async {
        let delegate = state.withLock { state in
            (state.announced, state.lastToken) = (nil, nil)
            return state.delegate.value
        }
        let usesID = isInstallationIdEnabled
        await MainActor.run {
            if usesID {
                delegate?.messaging(self, didReceiveRegistration: nil)
            } else {
                delegate?.messaging(self, didReceiveRegistrationToken: nil)
            }
            delegate?.messaging(self, didUnregister: registration.id)
        }
        await post(.MessagingInstallationIdUnregistered)
    }

    private func post(_ name: NSNotification.Name) async {
        await MainActor.run { NotificationCenter.default.post(name: name, object: self) }
    }
}
