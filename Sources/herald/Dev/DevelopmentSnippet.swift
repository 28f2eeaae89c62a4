/// The lines of Python that `herald dev` prints: an unmodified Firebase Admin SDK that talks to this gateway.
struct DevelopmentSnippet {
    /// The gateway's address.
    var base: String
    /// The path of the service account's credential.
    var credential: String

    /// The program, from `import` to the first send.
    var text: String {
        """
        import firebase_admin
        from firebase_admin import credentials, messaging
        BASE, PROJECT = "\(base)", "\(DevelopmentState.projectName)"
        messaging._MessagingService.FCM_URL = BASE + "/v1/projects/{0}/messages:send"
        messaging._MessagingService.FCM_BATCH_URL = BASE + "/batch"
        messaging._MessagingService.IID_URL = BASE
        app = firebase_admin.initialize_app(credentials.Certificate(\(quotedCredential)))
        messaging._get_messaging_service(app)._fcm_topic_url = f"{BASE}/v1/projects/{PROJECT}/registrations"
        message = messaging.Message(topic="weather", notification=messaging.Notification("Hello", "from Python"))
        print(messaging.send(message))
        """
    }

    /// A Python string literal.
    private var quotedCredential: String {
        let escaped = credential.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
        return "\"\(escaped)\""
    }
}
