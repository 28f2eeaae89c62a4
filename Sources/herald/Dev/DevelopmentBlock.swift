/// The lines that `herald dev` prints to be pasted: shell, from `# 1.` to `# End`.
struct DevelopmentBlock {
    /// The gateway's address.
    var base: String
    /// The API keys.
    var keys: DevelopmentState.Keys
    /// A device token to register with.
    var deviceToken: String
    /// The path of this program.
    var herald: String

    /// The block.
    var text: String {
        let project = "\(base)/v1/projects/\(DevelopmentState.projectName)"
        let json = "-H 'Content-Type: application/json'"
        let sender = "-H 'Authorization: Bearer \(keys.sender)'"
        let client = "-H 'Authorization: Bearer \(keys.client)'"
        let install = "-H \"X-Goog-Firebase-Installations-Auth: $AUTH\""
        return """
            # 1. Install an app, register its device and keep the registration token
            AUTH=$(curl -sS \(client) \(json) \(project)/installations -d '{"appId":"1:123456789012:ios:0a1b2c3d"}' \
            | sed -n 's/.*"token": *"\\([^"]*\\)".*/\\1/p')
            TOKEN=$(curl -sS \(client) \(install) \(json) \(project)/registrations -d '\(registration)' \
            | sed -n 's/.*"token": *"\\([^"]*\\)".*/\\1/p'); echo "$TOKEN"

            # 2. Subscribe it to the topic weather
            curl -sS \(client) \(install) -X POST "\(project)/registrations/$TOKEN/topicSubscriptions/weather:subscribe"; echo

            # 3. Send to the device
            curl -sS \(sender) \(json) \(project)/messages:send -d '{"message":{"token":"'"$TOKEN"'",\
            "notification":{"title":"Hello","body":"from Herald"}}}'; echo

            # 4. Broadcast to the topic and keep the message's name
            NAME=$(curl -sS \(sender) \(json) \(project)/messages:send -d '\(broadcast)' \
            | sed -n 's/.*"name": *"\\([^"]*\\)".*/\\1/p'); echo "$NAME"

            # 5. See what became of it
            sleep 1; curl -sS \(sender) "\(base)/v1/$NAME"; echo

            # 6. Broadcast at 5 pushes a second, and list the messages
            curl -sS \(sender) \(json) \(project)/messages:send -d '\(paced)'; echo
            HERALD_GATEWAY=\(base) HERALD_PROJECT=\(DevelopmentState.projectName) HERALD_KEY=\(keys.sender) \
            '\(herald)' message list

            # 7. Make a short link, and open it as a computer and as an Android phone do
            LINK=$(curl -sS \(client) \(json) \(base)/v1/shortLinks -d '\(link)' \
            | sed -n 's/.*"shortLink": *"\\([^"]*\\)".*/\\1/p'); echo "$LINK"
            curl -sS -o /dev/null -w '%{redirect_url}\\n' -H 'Host: \(DevelopmentState.linkHost)' "\(base)/${LINK##*/}"
            curl -sS -o /dev/null -w '%{redirect_url}\\n' -A 'Mozilla/5.0 (Linux; Android 14) Chrome/126.0.0.0 Mobile' \
            -H 'Host: \(DevelopmentState.linkHost)' "\(base)/${LINK##*/}"
            # End
            """
    }

    private var registration: String {
        #"{"ios":{"apns_token":"\#(deviceToken)","bundle_id":"\#(DevelopmentState.app)","apns_environment":"PROD"}}"#
    }

    private var link: String {
        #"{"dynamicLinkInfo":{"dynamicLinkDomain":"\#(DevelopmentState.linkHost)","link":"https://www.example.com/hello","#
            + #""androidInfo":{"androidPackageName":"\#(DevelopmentState.app)"}}}"#
    }

    private var paced: String {
        #"{"message":{"topic":"weather","notification":{"title":"Rain","body":"in no hurry"}},"delivery":{"rate":5}}"#
    }

    private var broadcast: String {
        #"{"message":{"topic":"weather","notification":{"title":"Portugal vs. Denmark","body":"great match!"},"#
            + #""apns":{"payload":{"aps":{"badge":1},"customKey":"customValue"}},"#
            + #""fcm_options":{"analytics_label":"match"}}}"#
    }
}
