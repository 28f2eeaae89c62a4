import Simulators

/// What `herald dev` keeps for Android: the identity of the simulated Google, with the key file of its service account.
struct DevelopmentAndroid {
    /// The app of the demo project.
    static let app = DevelopmentState.app

    /// The simulated Google's.
    let identity: GoogleIdentity

    /// Reads what is in the state directory, makes what is missing.
    init(directory: String) throws(Failure) {
        do {
            identity = try GoogleIdentity(directory: directory + "/google")
        } catch {
            throw Failure(.inputOutput, "\(error)")
        }
    }

    /// Lines for a shell: an Android device with a token as Firebase's SDK gives it.
    ///
    /// - Parameter token: the first part of the token, at least eight characters.
    func block(base: String, keys: DevelopmentState.Keys, token: String) -> String {
        DevelopmentDevice(base: base, key: keys.client).block(
            variable: "ANDROID", kind: "android",
            registration: #"'{"android":{"fcm_token":"\#(token):APA91bDemo","package_name":"\#(Self.app)"}}'"#)
    }
}
