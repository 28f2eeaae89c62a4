package import IPAddresses

/// Where an installation lets webhooks go: to the Internet, and to what its configuration names.
package struct WebhookPolicy: Sendable {
    /// `webhooks.allowHTTP`: hosts in lower case that may be asked without TLS.
    package var allowedHTTP: Set<String>
    /// `webhooks.allowNetworks`: networks beside the Internet that names may lead to.
    package var allowedNetworks: [IPNetwork]
    /// Whether an address and port are of the gateway's own listeners.
    package var isOwnListener: @Sendable (_ address: IPAddress, _ port: Int) -> Bool

    /// Puts a policy together.
    package init(
        allowedHTTP: Set<String> = [], allowedNetworks: [IPNetwork] = [],
        isOwnListener: @escaping @Sendable (_ address: IPAddress, _ port: Int) -> Bool = { _, _ in false }
    ) {
        self.allowedHTTP = allowedHTTP
        self.allowedNetworks = allowedNetworks
        self.isOwnListener = isOwnListener
    }

    /// Whether a URL may name an address itself.
    func allows(named address: IPAddress) -> Bool {
        allowedNetworks.contains { $0.contains(address.unmapped) }
    }

    /// Throws unless every address that a name leads to may be asked: a name with one address of each kind is a trick.
    func check(_ addresses: [IPAddress], port: Int) throws(WebhookURLProblem) {
        for address in addresses {
            let plain = address.unmapped
            guard plain.isOfInternet || allowedNetworks.contains(where: { $0.contains(plain) }) else {
                throw WebhookURLProblem(
                    .address,
                    "The host leads to \(plain), which is neither of the Internet nor of webhooks.allowNetworks.")
            }
            guard !isOwnListener(plain, port) else {
                throw WebhookURLProblem(.ownListener, "The host leads to the gateway's own listener.")
            }
        }
    }
}
