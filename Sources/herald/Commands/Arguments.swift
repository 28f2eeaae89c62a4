import ArgumentParser
package import PushModel
package import Store

extension Role: ExpressibleByArgument {}

extension PushEnvironment: ExpressibleByArgument {}

extension AuditAction: ExpressibleByArgument {}

extension OperatorRole: ExpressibleByArgument {}

extension OperatorName: ExpressibleByArgument {
    /// The operator that an argument names.
    package init?(argument: String) {
        self.init(rawValue: argument)
    }
}

extension ProjectID: ExpressibleByArgument {
    /// The project that an argument names.
    package init?(argument: String) {
        self.init(rawValue: argument)
    }
}

extension ServiceAccountEmail: ExpressibleByArgument {
    /// The service account that an argument names.
    package init?(argument: String) {
        self.init(rawValue: argument)
    }
}

extension StoragePolicy: ExpressibleByArgument {
    /// The policy that an argument names, in any case: `none` or `most_recent`, also with a hyphen.
    package init?(argument: String) {
        self.init(rawValue: argument.uppercased().replacing("-", with: "_"))
    }
}
