package import JSON
package import Links

/// `DynamicLinkInfo` of Dynamic Links' API: the parameters of a link as nested objects.
package enum DynamicLinkInfo {
    /// The objects below `dynamicLinkInfo` by their path in snake_case, with the parameters in them.
    private static let sections: [(path: [String], fields: [(name: String, parameter: LinkParameter)])] = {
        var sections: [(path: [String], fields: [(name: String, parameter: LinkParameter)])] = []
        for parameter in LinkParameter.allCases {
            var path = parameter.restField.split(separator: ".").map { snakeCase($0) }
            let name = path.removeLast()
            if let index = sections.firstIndex(where: { $0.path == path }) {
                sections[index].fields.append((name, parameter))
            } else {
                sections.append((path, [(name, parameter)]))
            }
        }
        return sections
    }()

    /// Reads the parameters; unknown fields are passed over, since plug-ins send more than the API has.
    static func parameters(_ info: ObjectReader) throws(FCMError) -> LinkParameters {
        var parameters = LinkParameters()
        for section in sections {
            guard let object = try object(at: section.path, in: info) else { continue }
            for (name, parameter) in section.fields {
                if parameter == .forcedRedirect {
                    if let flag = try object.lenientBool(name) { parameters[parameter] = flag ? "1" : "0" }
                } else {
                    parameters[parameter] = try object.lenientString(name)
                }
            }
        }
        return parameters
    }

    private static func object(at path: [String], in info: ObjectReader) throws(FCMError) -> ObjectReader? {
        var object = info
        for name in path {
            guard let inner = try object.object(name, type: "TYPE_MESSAGE") else { return nil }
            object = inner
        }
        return object
    }

    /// The object of a link: its prefix, and the parameters that it has.
    package static func json(prefix: String, _ parameters: LinkParameters) -> JSONValue {
        var root: [JSONValue.Member] = [.init("domainUriPrefix", .string(prefix))]
        for (parameter, value) in LinkParameter.allCases.compactMap({ name in parameters[name].map { (name, $0) } }) {
            let value = parameter == .forcedRedirect ? JSONValue.bool(parameters.isForcedRedirect) : .string(value)
            insert(value, at: parameter.restField.split(separator: ".")[...], into: &root)
        }
        return .object(root)
    }

    private static func insert(
        _ value: JSONValue, at path: ArraySlice<Substring>, into members: inout [JSONValue.Member]
    ) {
        guard let first = path.first.map(String.init) else { return }
        guard path.count > 1 else { return members.append(.init(first, value)) }
        let index = members.firstIndex { $0.name == first } ?? members.endIndex
        if index == members.endIndex { members.append(.init(first, .object([]))) }
        guard case .object(var inner) = members[index].value else { return }
        insert(value, at: path.dropFirst(), into: &inner)
        members[index].value = .object(inner)
    }

    private static func snakeCase(_ name: Substring) -> String {
        name.reduce(into: "") { text, character in
            if character.isUppercase { text += "_" }
            text += character.lowercased()
        }
    }
}
