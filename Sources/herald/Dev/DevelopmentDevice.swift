/// Lines for a shell that install an app, register the device and subscribe it to the topic weather.
struct DevelopmentDevice {
    /// The gateway's address.
    var base: String
    /// An API key for clients.
    var key: String

    /// The lines, which leave the registration token in a variable and print it.
    ///
    /// - Parameters:
    ///   - kind: `android` or `web`, as app ids of Firebase have it.
    ///   - registration: the body of the registration, quoted for the shell.
    func block(variable: String, kind: String, registration: String) -> String {
        let project = "\(base)/v1/projects/\(DevelopmentState.projectName)"
        let call = "curl -sS -H 'Authorization: Bearer \(key)' -H 'Content-Type: application/json'"
        let token = #"sed -n 's/.*"token": *"\([^"]*\)".*/\1/p'"#
        return """
            AUTH=$(\(call) \(project)/installations -d '{"appId":"1:123456789012:\(kind):0a1b2c3d"}' | \(token))
            \(variable)=$(\(call) -H "X-Goog-Firebase-Installations-Auth: $AUTH" \(project)/registrations \
            -d \(registration) | \(token)); echo "$\(variable)"
            \(call) -H "X-Goog-Firebase-Installations-Auth: $AUTH" \
            -X POST "\(project)/registrations/$\(variable)/topicSubscriptions/weather:subscribe"; echo
            """
    }
}
