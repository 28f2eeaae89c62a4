import JSON

extension FCMMessage {
    /// The keys of `data` that hold a link by convention: FCM itself gives none of its keys a meaning.
    package static let linkKeys: Set<String> = ["link", "url", "deep_link"]

    /// What stands where apps and browsers look for the link that a tap opens, each text once, in the order of the message:
    /// ``linkKeys`` of `data` (that of a platform too, on iOS the keys beside `aps`), `click_action` (on iOS
    /// `aps.category`, which the legacy API makes of it) and `webpush.fcm_options.link`. Not all of it need be URLs.
    package var links: [String] {
        var links: [String] = []
        _ = LinkWalk { text in
            if !links.contains(text) { links.append(text) }
            return nil
        }.message(source)
        return links
    }

    /// The message with other texts in place of some of ``links``. It was checked before and is not checked again.
    package func replacingLinks(_ replacements: [String: String]) -> FCMMessage {
        FCMMessage(stored: LinkWalk { replacements[$0] }.message(source))
    }
}

/// Goes through the places of a message that links stand in.
private struct LinkWalk {
    /// What takes the place of a text; `nil`: it stays.
    let replacement: (String) -> String?

    func message(_ source: JSONValue) -> JSONValue { walk(source, .message(.message), name: "message") }

    /// A field of the schema by its snake_case name.
    private func walk(_ value: JSONValue, _ type: MessageSchema.FieldType, name: String) -> JSONValue {
        switch (type, name) {
        case (.message(let schema), _):
            value.mapMembers { member in
                schema.declaration(member.name).map { walk(member.value, $0.type, name: $0.name) } ?? member.value
            }
        case (.stringMap, "data"): value.mapMembers(custom)
        case (.structure, "payload"):
            value.mapMembers { $0.name == "aps" ? $0.value.mapMembers(category) : custom($0) }
        case (.string, "click_action"), (.string, "link"): text(value)
        default: value
        }
    }

    private func custom(_ member: JSONValue.Member) -> JSONValue {
        FCMMessage.linkKeys.contains(member.name) ? text(member.value) : member.value
    }

    private func category(_ member: JSONValue.Member) -> JSONValue {
        member.name == "category" ? text(member.value) : member.value
    }

    private func text(_ value: JSONValue) -> JSONValue {
        // The empty string is proto's "not set".
        guard let text = value.stringValue, !text.isEmpty, let new = replacement(text) else { return value }
        return .string(new)
    }
}

extension JSONValue {
    /// The object with other values; what is no object stays.
    fileprivate func mapMembers(_ value: (Member) -> JSONValue) -> JSONValue {
        guard case .object(let members) = self else { return self }
        return .object(members.map { Member($0.name, value($0)) })
    }
}
