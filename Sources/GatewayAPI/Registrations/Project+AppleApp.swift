import PushModel

extension Project {
    /// The Apple app with this bundle id, with what it has as one.
    func appleApp(_ bundleID: String) -> (app: App, service: DeviceService)? {
        guard let id = AppID(rawValue: bundleID), let app = apps[AppKey(.apple, id)], let service = app.deviceService
        else { return nil }
        return (app, service)
    }
}
