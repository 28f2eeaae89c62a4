import JSON

/// The time to live that a message's block for a platform says, without the rest of the block. The message was checked.
enum BlockLifetime {
    /// `ttl` of `android` or `android_v2`, whole seconds; `nil`: it says none.
    static func android(_ fields: [MessageSchema.Field]) -> Duration? {
        guard let block = fields.last(where: { $0.name == "android" || $0.name == "android_v2" }) else { return nil }
        let schema: MessageSchema = block.name == "android" ? .android : .androidV2
        // What is no duration was refused at accept.
        return schema.value("ttl", of: block.value)?.stringValue.flatMap { try? Duration(protoJSON: $0) }
            .map { .seconds($0.components.seconds) }
    }

    /// `TTL` of `webpush.headers`, in any case; `nil`: it says none.
    static func web(_ fields: [MessageSchema.Field]) -> Duration? {
        guard let block = fields.last(where: { $0.name == "webpush" }),
            case .object(let headers)? = MessageSchema.webpush.value("headers", of: block.value)
        else { return nil }
        return headers.last { $0.name.lowercased() == "ttl" }?.value.stringValue.flatMap { Int64($0) }
            .map { .seconds($0) }
    }
}
