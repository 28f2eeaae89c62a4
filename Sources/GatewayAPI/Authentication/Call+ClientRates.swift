import HTTPListener
import HTTPTypes
import HummingbirdCore
import PushModel
import Store

extension Call {
    /// Counts a client's request against the limits of its address and its project; other callers have none.
    ///
    /// - Parameter count: the items of a batch, beyond the first.
    func checkRate(of caller: Caller, _ count: Int = 1) throws(FCMError) {
        try take(count, .project(caller.project), of: caller) { .address($0) }
    }

    /// Counts registrations that a client is about to make.
    func checkNewRegistrations(_ count: Int, of caller: Caller) throws(FCMError) {
        try take(count, .newRegistrationProject(caller.project), of: caller) { .newRegistrationAddress($0) }
    }

    private func take(
        _ count: Int, _ project: ClientRateLimits.Party, of caller: Caller,
        address party: (ClientAddress) -> ClientRateLimits.Party
    ) throws(FCMError) {
        guard caller.role == .client else { return }
        // Looked at first, so that what the project refuses leaves no address behind; counted last, so that what one
        // address asks too often is not the project's loss.
        try services.clientLimits.check(project, count)
        if let address = clientAddress { try services.clientLimits.take(party(address), count) }
        try services.clientLimits.take(project, count)
    }

    /// Counts a link that a client is about to make.
    func checkNewLink(of caller: Caller) throws(FCMError) {
        try take(1, .newLinkProject(caller.project), of: caller) { .newLinkAddress($0) }
    }

    /// Counts a topic that a client is about to make, against the limit of its address.
    func checkNewTopic(of caller: Caller) throws(FCMError) {
        guard caller.role == .client, let clientAddress else { return }
        try services.clientLimits.take(.newTopicAddress(clientAddress))
    }

    /// Counts an attempt to authenticate with an assertion; ``authenticationSucceeded()`` takes it back.
    ///
    /// - Returns: whether it was counted: not what ``AccountSigners`` let pass.
    /// - Throws: RESOURCE_EXHAUSTED for an address that failed too often.
    func countAuthentication(by assertion: String) async throws(FCMError) -> Bool {
        guard let clientAddress, services.clientLimits.rates.failures > 0 else { return false }
        if await signers.passes(assertion, from: clientAddress) { return false }
        try services.clientLimits.take(.failures(clientAddress))
        return true
    }

    /// Takes ``countAuthentication(by:)`` back.
    func authenticationSucceeded() {
        if let clientAddress { services.clientLimits.giveBack(.failures(clientAddress)) }
    }

    /// Where the request comes from, as the outermost proxy of ours saw it.
    var clientAddress: ClientAddress? {
        forwardedAddress.map { ClientAddress($0) }
    }

    var forwardedAddress: String? {
        if let use = context.operatorUse { return use.address }
        return ClientAddress.forwarded(
            request.headers, peer: context.address, proxies: services.clientLimits.rates.proxies)
    }
}

extension ProjectCall {
    /// Counts the items of a batch, beyond the first, as requests of the caller.
    func checkRate(ofItems count: Int) throws(FCMError) { try call.checkRate(of: caller, count) }

    /// Counts a client's request against the limit of the registration that it is about.
    func checkRate(of registration: RegistrationID) throws(FCMError) {
        guard caller.role == .client else { return }
        try services.clientLimits.take(.registration(registration))
    }
}
