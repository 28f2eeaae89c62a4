import FCMWire
import HTTPTypes
import JSON
import PushModel

/// What the gateway says of a message before it is sent: the same check as for every sender.
struct ComposerCheck: Sendable {
    /// How the audience is found.
    enum Audience: Sendable {
        /// The most that it can be, from counts that are kept: as quick as the rest of the check.
        case estimated
        /// Counted, in time that grows with it: for Review alone.
        case counted
    }

    /// How many registrations it goes to, or at most goes to; `nil`: not known.
    var audience: Int?
    /// How long that takes, in words; `nil`: not known.
    var duration: String?
    /// What is wrong, by field.
    var problems: [(field: String, text: String)] = []
    /// What is odd.
    var warnings: [String] = []
    /// What templates see.
    private(set) var model: Model = [:]

    /// Above so many recipients the number is to be typed.
    static let massLimit = 1000

    /// Whether it may go to more than ``massLimit``.
    var isMass: Bool { (audience ?? 0) > Self.massLimit }

    /// Checks a form.
    init(_ form: ComposerForm, _ call: ConsoleCall, audience kind: Audience = .estimated) async throws {
        let request = form.request(in: call.project, at: call.now)
        var content: FCMMessage?
        do throws(InvalidMessage) {
            content = try FCMMessage(source: .object(form.content(in: call.project, at: call.now)))
        } catch {
            problems = error.violations.map { (Self.label(of: $0.field), $0.description) }
        }
        if form.isTooLarge { problems.append(("Message", ComposerForm.tooLarge)) }
        if !form["target"].isEmpty, problems.isEmpty {
            let options: [JSONValue.Member] = [
                .init("validate_only", .bool(true)), .init("estimate_audience", .bool(kind == .estimated)),
            ]
            let answer = try await call.api(
                .post, call.apiPath("messages:send"),
                .object(request.members + options))
            read(answer, form)
        }
        if form["title"].isEmpty, form["body"].isEmpty, form["data"].isEmpty, !form["target"].isEmpty {
            warnings.append("The message says nothing: devices show nothing and are only woken.")
        }
        let sizes =
            content.map { form.isEmpty ? [] : ComposerPreview.sizes(of: $0, for: form.kind != .device, call) } ?? []
        let url = "\(call.services.publicURL())\(call.apiPath("messages:send"))"
        let body = JSONText.pretty(request)
        model = [
            "sizes": sizes, "hasSizes": !sizes.isEmpty, "warnings": warnings, "hasWarnings": !warnings.isEmpty,
            "problems": problems.map { ["field": $0.field, "text": $0.text] as Model },
            "hasProblems": !problems.isEmpty, "json": body,
            "curl":
                "curl \(url) \\\n  -H \"Authorization: Bearer $HERALD_KEY\" \\\n  -H 'Content-Type: application/json' \\\n  -d '"
                + body.replacing("'", with: "'\\''") + "'",
        ]
        if let audience {
            model["audience"] =
                "Reaches \(kind == .counted || form.namesDevices ? "" : "at most ")\(Format.count(audience, "device"))"
                + (duration.map { ", in about \($0)" } ?? "") + "."
        }
    }

    private mutating func read(_ answer: APIAnswer, _ form: ComposerForm) {
        guard answer.isSuccess else {
            let violations = answer.violations.map { (Self.label(of: $0.field), $0.text) }
            problems = violations.isEmpty ? [("Send to", answer.message)] : violations
            return
        }
        audience = answer.json["audience"]?.integerValue
        if audience == 0 { warnings.append("No device would get it: no active registration fits.") }
        warnings += answer.json["warnings"]?.elements.compactMap { $0["description"]?.stringValue } ?? []
        warnings += answer.json["refusals"]?.elements.compactMap { $0["message"]?.stringValue } ?? []
        if let text = answer.json["expectedDuration"]?.stringValue, let seconds = Double(text.dropLast()) {
            duration = Format.span(milliseconds: Int64(seconds * 1000))
        }
    }

    /// The composer's name of a field of the request.
    static func label(of field: String) -> String {
        let names: [(String, String)] = [
            ("topic", "Send to"), ("token", "Send to"), ("fid", "Send to"), ("condition", "Send to"),
            ("target", "Send to"), ("badge", "Badge"), ("sound", "Sound"), ("category", "Category"),
            ("image", "Image"), ("link", "Link"), ("title", "Title"), ("body", "Body"), ("data", "Data"),
            ("analytics_label", "Label"), ("expiration", "Expiry"), ("ttl", "Expiry"), ("delivery", "Pace"),
        ]
        return names.first { field.lowercased().contains($0.0) }?.1 ?? field
    }
}
