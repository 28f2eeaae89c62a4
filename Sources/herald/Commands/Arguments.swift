import ArgumentParser
package import PushModel
package import Store

extension Role: ExpressibleByArgument {}

extension PushEnvironment: ExpressibleByArgument {}

extension AuditAction: ExpressibleByArgument {}

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
