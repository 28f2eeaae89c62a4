import HTTPListener
import PushModel
import Store

extension ProjectCall {
    /// Who asks, as messages and audit entries keep it.
    var credential: CredentialUse {
        CredentialUse(id: caller.credential.id, name: caller.name, role: caller.role, address: call.peerAddress)
    }
}

extension Call {
    /// The IP address that the request came from, as the outermost proxy of ours saw it: without a port, and `nil` for
    /// what is no address.
    var peerAddress: String? { forwardedAddress.flatMap(ClientAddress.plain) }
}
