import PushModel

extension Project {
    /// The Apple app with this bundle id.
    func appleApp(_ bundleID: String) -> App? {
        guard let app = AppID(rawValue: bundleID).flatMap({ apps[$0] }), app.platform == .apple else { return nil }
        return app
    }
}
