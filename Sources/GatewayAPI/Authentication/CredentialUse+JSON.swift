import JSON
import Logging
import PushModel
import Store

extension Logger.Metadata {
    /// The metadata with who asked.
    func with(_ use: CredentialUse) -> Logger.Metadata {
        var metadata = self
        metadata["credential.id"] = "\(use.id)"
        metadata["credential.name"] = use.name.map { "\($0)" }
        metadata["credential.role"] = use.role.map { "\($0.rawValue)" }
        metadata["credential.address"] = use.address.map { "\($0)" }
        return metadata
    }
}

extension CredentialUse {
    /// `{id, name, role, address}`, as reports and lists show it.
    var json: JSONValue {
        var members: [JSONValue.Member] = [.init("id", .string(id))]
        if let name { members.append(.init("name", .string(name))) }
        if let role { members.append(.init("role", .string(role.rawValue))) }
        if let address { members.append(.init("address", .string(address))) }
        return .object(members)
    }
}
