import Foundation
import Upstream

/// Reads `webhooks.proxy` and `webhooks.proxyCredentialsFile`. No proxy of the environment is asked: where requests to
/// webhooks go is decided here alone.
struct WebhookProxySection {
    let settings: SettingsReader

    /// Reads both; `nil` when there is none, or after a problem.
    func read(problems: inout [ConfigurationProblem]) -> UpstreamProxy? {
        let text = settings.optionalText("webhooks.proxy", problems: &problems)
        let path = settings.optionalText("webhooks.proxyCredentialsFile", problems: &problems)
        guard let text, text != "none" else {
            if path != nil {
                problems.append(problem("proxyCredentialsFile", "needs a proxy; add \"proxy: http://host:port\""))
            }
            return nil
        }
        do {
            var proxy = try ProxyURL(text).proxy
            guard proxy.credentials == nil else {
                problems.append(
                    problem(
                        "proxy",
                        "must not hold a password; write user:password to a file (chmod 600) and name it in "
                            + "proxyCredentialsFile"))
                return nil
            }
            if let path { proxy.credentials = credentials(in: path, problems: &problems) }
            return proxy
        } catch {
            problems.append(problem("proxy", "\"\(text)\" \(error.text)"))
            return nil
        }
    }

    private func credentials(
        in path: String, problems: inout [ConfigurationProblem]
    ) -> UpstreamProxy.Credentials? {
        do {
            let line = try ConfigurationFile.text(of: path, in: path).trimmingCharacters(in: .newlines)
            if PrivateFile(path: path).isReadableByOthers {
                problems.append(
                    problem(
                        "proxyCredentialsFile",
                        "\(path) is readable by every user, so what is in it is no secret; chmod 600 \(path)"))
            }
            let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            if parts.count == 2,
                let found = UpstreamProxy.Credentials(checked: String(parts[0]), String(parts[1]))
            {
                return found
            }
            problems.append(problem("proxyCredentialsFile", "\(path): expected one line user:password"))
        } catch {
            problems.append(problem("proxyCredentialsFile", error.text))
        }
        return nil
    }

    private func problem(_ key: String, _ text: String) -> ConfigurationProblem {
        let field = "webhooks.\(key)"
        return ConfigurationProblem(settings.place(field), field: field, text)
    }
}
