/// A service account's name in the shape of an e-mail address: `<name>@<project>.iam.herald`.
package struct ServiceAccountEmail: TextIdentifier {
    /// The address.
    package let rawValue: String
    /// The project that the account works on.
    package let project: ProjectID

    /// What a name must be, for the texts of errors.
    package static let nameExpectation = "1 to 30 of a-z, 0-9 and -, the first a letter"

    private static let suffix = ".iam.herald"

    /// Takes `rawValue` when it is such an address.
    package init?(rawValue: String) {
        let parts = rawValue.split(separator: "@", omittingEmptySubsequences: false)
        guard parts.count == 2, parts[1].hasSuffix(Self.suffix),
            let project = ProjectID(rawValue: String(parts[1].dropLast(Self.suffix.count)))
        else { return nil }
        self.init(name: String(parts[0]), project: project)
    }

    /// The address of the account `name` of a project; `nil` when the name is not ``nameExpectation``.
    package init?(name: String, project: ProjectID) {
        guard name.isMade(of: "-", upTo: 30), name.utf8.allSatisfy({ !(UInt8(ascii: "A")...UInt8(ascii: "Z") ~= $0) }),
            let first = name.utf8.first, UInt8(ascii: "a")...UInt8(ascii: "z") ~= first
        else { return nil }
        rawValue = "\(name)@\(project)\(Self.suffix)"
        self.project = project
    }
}
