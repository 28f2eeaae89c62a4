import JSON
import Testing

extension JSONValue {
    /// The elements; `nil`: it is no list.
    var elements: [JSONValue]? {
        guard case .array(let elements) = self else { return nil }
        return elements
    }

    /// The elements of the member `name`, which must be a list.
    func requireList(
        _ name: String, sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> [JSONValue] {
        try #require(self[name]?.elements, "no list \(name) in \(self)", sourceLocation: sourceLocation)
    }
}

extension Answer {
    /// The elements of the member `name`, which must be a list.
    func requireList(
        _ name: String, sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> [JSONValue] {
        try json.requireList(name, sourceLocation: sourceLocation)
    }
}
