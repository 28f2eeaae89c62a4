package import Store

extension SystemVersion {
    /// What a user agent says of the system: `iPhone OS 17_5_1`, `CPU OS 17_5`, `Android 14`. Macs and iPads that call
    /// themselves one say the same version for good, which is none.
    package init?(userAgent: String) {
        for mark in ["iPhone OS ", "CPU OS ", "Android "] {
            guard let found = userAgent.firstRange(of: mark) else { continue }
            let version = userAgent[found.upperBound...].prefix { $0.isNumber || $0 == "_" || $0 == "." }
            self.init(String(version))
            return
        }
        return nil
    }
}
