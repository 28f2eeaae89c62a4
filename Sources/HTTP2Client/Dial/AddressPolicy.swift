import IPAddresses

/// Which addresses a pool dials. It is applied to each address that is about to be dialed, not to the name: one that leads
/// elsewhere a moment later (DNS rebinding) gains nothing.
package enum AddressPolicy: Hashable, Sendable, CaseIterable {
    /// All.
    case any
    /// Those of the public Internet: for peers that others name, who must not reach what only this machine can.
    case publicOnly

    /// Whether an address may be dialed.
    func allows(_ address: SocketAddress) -> Bool {
        switch self {
        case .any: true
        case .publicOnly: IPAddress(bytes: address.ip)?.isOfInternet ?? false
        }
    }
}
