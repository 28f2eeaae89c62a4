import Crypto
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdCore
import NIOCore

/// The files that pages load: the style sheet, the script and the icon. Their names change with what they say, so browsers
/// keep them.
struct ConsoleAssets: Sendable {
    static let styleName = name("console", StyleSheet.text, "css")
    static let scriptName = name("console", ConsoleScript.text, "js")

    private static func name(_ base: String, _ text: String, _ suffix: String) -> String {
        let digest = SHA256.hash(data: Data(text.utf8)).prefix(6).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }
        return "\(base)-\(digest.joined()).\(suffix)"
    }

    /// The file that a request asks for; `nil`: it asks for none.
    func response(to visit: Visit) -> Response? {
        guard visit.segments.count == 2, visit.segments[0] == "assets" else { return nil }
        let isRead = visit.request.method == .get || visit.request.method == .head
        switch visit.segments[1] {
        case Self.styleName where isRead: return file(StyleSheet.text, "text/css; charset=utf-8")
        case Self.scriptName where isRead: return file(ConsoleScript.text, "text/javascript; charset=utf-8")
        case "icon.svg" where isRead: return file(Self.icon, "image/svg+xml")
        default: return .console("There is no such file.\n", "text/plain", status: .notFound)
        }
    }

    private func file(_ text: String, _ type: String) -> Response {
        .console(text, type, and: [.cacheControl: "public, max-age=31536000, immutable"])
    }

    private static let icon = """
        <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24"><rect width="24" height="24" rx="6" fill="#4338ca"/>\
        <path d="M5 10v4h3l5 4V6l-5 4zM16 9a4 4 0 0 1 0 6M18 7a7 7 0 0 1 0 10" fill="none" stroke="#fff" \
        stroke-width="1.8" stroke-linejoin="round" stroke-linecap="round"/></svg>
        """
}
