import PushModel
import Store

extension ProjectCall {
    /// Counts the registration that a client's request would make, against the limits for new ones. One that refreshes what
    /// is there makes none, and is never refused for it; another address counts as a registration, since it may end
    /// that of another. The first one of an installation was counted with it.
    ///
    /// - Parameter installation: whose registration it becomes; `nil`: the request proves none.
    func checkNewRegistration(
        _ request: RegistrationRequest, of installation: Installation? = nil
    ) async throws(FCMError) {
        guard caller.role == .client else { return }
        if let installation, installation.registration == nil { return }
        if let current = try await current(request, of: installation), !current.isReplaced(by: request.owner),
            current.address.identity == request.address.identity
        {
            return
        }
        try call.checkNewRegistrations(1, of: caller)
    }

    /// Counts the registration that takes the place of one when its user changes, and a change of its address.
    func checkNewRegistration(_ change: RegistrationChange, of registration: Registration) throws(FCMError) {
        let isMoved =
            change.address.map {
                $0.applied(to: registration.address).identity != registration.address.identity
            } ?? false
        guard isMoved || registration.isReplaced(by: change.owner) else { return }
        try call.checkNewRegistrations(1, of: caller)
    }

    /// The registration that the request refreshes: the installation's, or that of the address if the request may.
    private func current(
        _ request: RegistrationRequest, of installation: Installation?
    ) async throws(FCMError) -> Registration? {
        if let installation {
            let linked = try await registration(of: installation)
            return linked.flatMap { $0.isActive && $0.appKey == request.appKey ? $0 : nil }
        }
        do throws(StoreError) {
            let holder = try await services.store.registration(
                holding: request.address, of: request.app, in: project.id)
            return holder.flatMap { $0.isBound && !request.refreshesBound ? nil : $0 }
        } catch {
            throw FCMError(error)
        }
    }
}

extension Registration {
    /// Whether a registration of its own takes the place of this one: it has a user, and the device another.
    fileprivate func isReplaced(by owner: RegistrationOwner?) -> Bool {
        guard let owner, let user else { return false }
        return owner.user != user
    }
}
