import Foundation
import GatewayAPI
import JSON
import Signing
import Simulators

/// What `herald dev` keeps for browsers: a VAPID key, and the identity of the simulated push service.
struct DevelopmentBrowsers {
    /// The web app: the host of the page that the gateway serves.
    static let app = "localhost"
    /// Where the page is.
    static let path = "/try/"

    /// The PEM of the key.
    let keyFile: String
    /// Its public half in base64url.
    let publicKey: String
    /// The authorities that the web app trusts.
    let trustFile: String
    /// The simulated push service's.
    let identity: PushServiceIdentity

    /// Reads what is in the state directory, makes what is missing.
    init(directory: String) throws(Failure) {
        keyFile = directory + "/vapid.pem"
        do {
            identity = try PushServiceIdentity(directory: directory + "/push-service")
            if !FileManager.default.fileExists(atPath: keyFile) {
                try PrivateFile(path: keyFile).write(Data(ES256PrivateKey.generatedPEM().utf8))
            }
            let key = try ES256PrivateKey(pem: String(contentsOfFile: keyFile, encoding: .utf8))
            publicKey = Base64URL.text(key.publicPoint)
            trustFile = directory + "/push-service/trust.pem"
            try Self.writeTrust(to: trustFile, with: identity.caFile)
        } catch {
            throw Failure(.inputOutput, "\(directory): what browsers need can't be made: \(error)")
        }
    }

    /// The simulator's authority, with those of the system, so that real browsers are reached as well.
    private static func writeTrust(to file: String, with authority: String) throws {
        let system = [
            "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem",
        ].first { FileManager.default.isReadableFile(atPath: $0) }
        var text = try String(contentsOfFile: authority, encoding: .utf8)
        if let system { text += try "\n" + String(contentsOfFile: system, encoding: .utf8) }
        try Data(text.utf8).write(to: URL(filePath: file), options: .atomic)
    }

    /// The page that subscribes and shows pushes; its worker is the one that the gateway serves to all.
    ///
    /// - Parameter clientKey: what pages may know.
    func files(clientKey: String) -> [String: ServedFile] {
        [
            Self.path: ServedFile(type: "text/html; charset=utf-8", text: Self.html),
            Self.path + "page.js": ServedFile(
                type: "text/javascript; charset=utf-8", text: script(clientKey: clientKey)),
        ]
    }

    /// Lines for a shell: a browser that the simulated push service plays.
    func block(base: String, keys: DevelopmentState.Keys, controlPort: Int) -> String {
        let device = DevelopmentDevice(base: base, key: keys.client).block(
            variable: "BROWSER", kind: "web", registration: #"'{"web":'"$SUBSCRIPTION"'}'"#)
        return """
            SUBSCRIPTION=$(curl -sS http://127.0.0.1:\(controlPort)/subscriptions \
            -d '{"applicationServerKey":"\(publicKey)"}')
            \(device)
            """
    }

    // MARK: The page

    private static let html = """
        <!DOCTYPE html>
        <html lang="en">
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width">
        <title>Herald: Web Push</title>
        <h1>Web Push</h1>
        <p><button id="subscribe">Subscribe this browser</button> <button id="leave">Leave</button></p>
        <p>Registration token: <code id="token">none yet</code></p>
        <p>It joins the topic <code>weather</code>. What arrives:</p>
        <ol id="pushes"></ol>
        <p id="problem" role="alert"></p>
        <script type="module" src="page.js"></script>
        </html>

        """

    private func script(clientKey: String) -> String {
        """
        import {deleteToken, getMessaging, getToken, onMessage, subscribe} from "\(BrowserModule.path)";
        const messaging = getMessaging({
          gateway: location.origin, project: "\(DevelopmentState.projectName)", clientKey: "\(clientKey)",
          vapidKey: "\(publicKey)", appId: "1:123456789012:web:0a1b2c3d", origin: "\(Self.app)",
          worker: "\(BrowserModule.workerPath)", scope: "\(Self.path)"});
        // For a console: the module has further functions.
        document.messaging = messaging;
        const show = (id, text) => { document.getElementById(id).textContent = text; };
        const onClick = (id, action) => {
          document.getElementById(id).onclick = () => action().catch((error) => show("problem", String(error)));
        };
        onClick("subscribe", async () => {
          show("token", await getToken(messaging));
          await subscribe(messaging, "weather");
        });
        onClick("leave", async () => {
          await deleteToken(messaging);
          show("token", "none yet");
        });
        onMessage(messaging, (push) => {
          const line = document.createElement("li");
          line.textContent = JSON.stringify(push);
          document.getElementById("pushes").append(line);
        });

        """
    }
}
