import PushModel

extension Project {
    /// The Apple app with this bundle id, with what it has as one.
    ///
    /// - Parameter field: where the request names it.
    /// - Throws: 400 for an id that the project does not have, and for an app that is not reached by APNs.
    func appleApp(_ bundleID: String, field: String) throws(FCMError) -> (app: App, service: DeviceService) {
        guard let id = AppID(rawValue: bundleID), let app = apps[AppKey(.apple, id)] else {
            throw .badRequest(field, "The project has no app with this bundle id.")
                .hinting(SenderHint.bundleID(bundleID, in: self))
        }
        guard let service = app.deviceService else {
            throw .badRequest(
                field, "The app has no apns block in its project file: there are links to it, and no registrations.")
        }
        return (app, service)
    }
}
