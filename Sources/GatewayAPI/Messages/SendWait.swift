import Delivery
import HTTPTypes
import Hummingbird
import JSON
import Logging
import PushModel
import Store

/// How long a sender wants to wait for the outcome of its message.
struct SendWait: Hashable, Sendable {
    /// How long, at most ``longest``.
    let limit: Duration
    /// Whether a header asked for it, which is passed over where it can't be met (RFC 7240 §2).
    let isPreference: Bool

    /// The longest wait: the answer is to come before clients and proxies give up.
    static let longest: Duration = .seconds(30)

    /// Waits for `limit` or ``longest``, the shorter; `nil` for none.
    init?(atMost limit: Duration, isPreference: Bool) {
        guard limit > .zero else { return nil }
        self.limit = min(limit, Self.longest)
        self.isPreference = isPreference
    }

    /// `delivery.wait` of a request, otherwise its header `Prefer: wait=`.
    init?(in request: SendRequest, _ headers: HTTPFields) {
        if let limit = request.item.wait {
            self.init(atMost: limit, isPreference: false)
        } else if let seconds = PreferHeader.wait(in: headers) {
            self.init(atMost: .seconds(seconds), isPreference: true)
        } else {
            return nil
        }
    }

    /// What `Preference-Applied` says.
    var applied: String? {
        isPreference ? "wait=\(limit.components.seconds)" : nil
    }
}

/// The `Prefer` header (RFC 7240).
enum PreferHeader {
    /// The seconds of the preference `wait` (§4.3): of several the first; `nil` when there is none, or it is no whole
    /// number of seconds. What is wrong is passed over (§2).
    static func wait(in headers: HTTPFields) -> Int? {
        for value in headers[values: .prefer] {
            for preference in parts(of: value[...], at: ",") {
                let sides = parts(of: preference, at: ";").first?.split(separator: "=", maxSplits: 1).map(
                    \.trimmingBlanks)
                guard let sides, sides.first?.lowercased() == "wait" else { continue }
                return sides.count == 2 ? seconds(sides[1]) : nil
            }
        }
        return nil
    }

    /// The parts between separators that stand in no quoted string.
    private static func parts(of text: Substring, at separator: Character) -> [Substring] {
        var isQuoted = false
        return text.split { character in
            if character == "\"" { isQuoted.toggle() }
            return character == separator && !isQuoted
        }
    }

    private static func seconds(_ text: Substring) -> Int? {
        var digits = text
        if digits.hasPrefix("\""), digits.hasSuffix("\""), digits.count >= 2 { digits = digits.dropFirst().dropLast() }
        guard !digits.isEmpty, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        // More than fits is more than the longest wait.
        return Int(digits) ?? Int(SendWait.longest.components.seconds)
    }
}

extension HTTPField.Name {
    /// `Prefer` (RFC 7240 §2).
    static let prefer = HTTPField.Name("Prefer")!
    /// `Preference-Applied` (RFC 7240 §3).
    static let preferenceApplied = HTTPField.Name("Preference-Applied")!
}

extension ProjectCall {
    /// The wait that a request asks for and that can be met; `nil`: none.
    ///
    /// - Throws: INVALID_ARGUMENT for `delivery.wait` with a target that is not one registration, and in a part of a
    ///   batch.
    func wait(
        of request: SendRequest, for recipient: Recipient<Registration, [Addressee]>
    ) throws(FCMError) -> SendWait? {
        guard let wait = SendWait(in: request, call.request.headers) else { return nil }
        if case .registration = recipient, !call.context.isPart { return wait }
        guard wait.isPreference else { throw .waitNotPossible }
        return nil
    }

    /// Accepts a message to one registration and answers with what became of it.
    ///
    /// - Throws: the error of a refusal before accept, and of the push service's refusal, which is final. Nothing else is an error once
    ///   the message is accepted, and none has a status of 500 or more.
    func respond(
        to submission: Submission, of request: SendRequest, waiting wait: SendWait
    ) async throws(FCMError) -> Response {
        let (accepted, end): (AcceptedMessage, DeliveryEnd?)
        do throws(SubmissionRefusal) {
            (accepted, end) = try await services.acceptor.accept(submission, waitingAtMost: wait.limit)
        } catch {
            throw FCMError(error, project: project)
        }
        log(accepted)
        // Some ends are not told: of a repeat, which does not wait, and of what the store ended itself.
        let known: (end: DeliveryEnd, platform: Platform)?
        if let end, case .registration(let registration) = submission.recipient {
            known = (end, registration.address.platform)
        } else {
            known = await knownEnd(of: accepted.id)
        }
        return try response(
            for: accepted.id, known, of: request.item, applied: accepted.isWaitRefused ? nil : wait.applied)
    }

    /// Answers a request that came before: with its name, and if it wants to wait with what became of it by now.
    ///
    /// - Throws: what the first was answered, or would have been, if the push service refused it.
    func respond(toRepeatOf id: MessageID, _ body: RequestBody) async throws(FCMError) -> Response {
        // Whatever can't be read, or decoded by the rules of today: the message is accepted, and has its name.
        let name = JSONValue.Member("name", .string(name(of: id)))
        guard let message = try? await services.store.message(id, in: project.id),
            let request = try? SendRequest(body, at: message.acceptedAt, to: project.servedPlatforms)
        else { return Response(json: .object([name])) }
        guard case .registration = message.recipient, let wait = SendWait(in: request, call.request.headers) else {
            return Response(json: .object([name] + request.item.warningMembers(in: project)))
        }
        return try response(for: id, await knownEnd(of: id), of: request.item, applied: wait.applied)
    }

    /// How the one delivery of a message ended, as the ledger has it, and on which platform; `nil`: it has not, or the
    /// ledger can't be read.
    private func knownEnd(of id: MessageID) async -> (end: DeliveryEnd, platform: Platform)? {
        do throws(StoreError) {
            let page = try await services.store.deliveries(
                of: id, in: project.id, outcome: nil, after: nil, limit: 1)
            guard let delivery = page.elements.first, let outcome = delivery.outcome else { return nil }
            return (DeliveryEnd(outcome: outcome, reason: delivery.reason), delivery.app.platform)
        } catch {
            // The message is accepted: that is the answer, whatever else fails.
            call.logger.warning(
                "The outcome of a message can't be read", metadata: ["message.id": "\(id)", "error": "\(error)"])
            return nil
        }
    }

    private func response(
        for id: MessageID, _ known: (end: DeliveryEnd, platform: Platform)?, of item: SendItem, applied: String?
    ) throws(FCMError) -> Response {
        let end = known?.end
        if let known,
            let error = FCMError(known.end, of: item, on: known.platform, name: name(of: id), services.refusals)
        {
            throw error
        }
        var members: [JSONValue.Member] = [
            .init("name", .string(name(of: id))),
            .init("outcome", .string(end?.outcome.rawValue.uppercased() ?? "IN_FLIGHT")),
        ]
        if let reason = end?.reason { members.append(.init("reason", .string(reason))) }
        var response = Response(json: .object(members + item.warningMembers(in: project)))
        if let applied { response.headers[.preferenceApplied] = applied }
        return response
    }
}

extension FCMError {
    /// A question to the push service where it can't be asked.
    static var upstreamNotPossible: FCMError {
        .invalid(
            "delivery.upstream",
            "delivery.upstream is for validateOnly of messages:send with a message to one registration that Google reaches."
        )
    }

    /// A wait for the outcome of a message that goes to more than one registration.
    static var waitNotPossible: FCMError {
        .invalid(
            "delivery.wait",
            "delivery.wait is for a message to one registration that is sent by messages:send. Of others the report "
                + "says what became of them.",
            reason: .waitNotPossible)
    }
}
