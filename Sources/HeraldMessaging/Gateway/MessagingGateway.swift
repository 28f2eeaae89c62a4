import Foundation

/// The gateway's API as an app uses it: requests out, answers in.
struct MessagingGateway: Sendable {
    /// What requests say of themselves.
    static let sdkVersion = "i:HeraldMessaging-1"

    let options: HeraldOptions
    let transport: any MessagingTransport

    /// Asks, and reads the answer.
    func send(_ request: MessagingRequest) async -> (answer: MessagingAnswer, serverTime: Date?) {
        let response: MessagingHTTPResponse
        do {
            response = try await transport.send(try httpRequest(request))
        } catch let error as MessagingError {
            return (.unanswered(error), nil)
        } catch {
            let isTimeout = (error as? URLError)?.code == .timedOut
            let failure = MessagingError(
                isTimeout ? .timeout : .network, "The gateway did not answer.", underlying: error)
            return (.unanswered(failure), nil)
        }
        return (Self.answer(to: request, response), response.headers["date"].flatMap(HTTPDate.init(text:))?.date)
    }

    // MARK: Requests

    private func httpRequest(_ request: MessagingRequest) throws -> MessagingHTTPRequest {
        switch request {
        case .install:
            return try post("installations", InstallBody(appId: options.appID))
        case .renew(let installation):
            return try post(
                "installations/\(installation.id)/authTokens:generate", RenewBody(),
                authorization: "FIS_v2 \(installation.refreshToken)")
        case .register(let installation, let facts, let user):
            return try post(
                "registrations", RegisterBody(facts: facts, user: user, app: options.appID), prover: installation)
        case .changeTopic(let installation, let registration, let change):
            let verb = change.isSubscription ? "subscribe" : "unsubscribe"
            let topic = change.topic.replacing("%", with: "%25")
            return try post(
                "registrations/\(registration)/topicSubscriptions/\(topic):\(verb)", EmptyBody(), prover: installation)
        case .report(let installation, let receipts, let offset):
            return try post("receipts", ReceiptsBody(receipts, clockOffset: offset), prover: installation)
        case .unregister(let installation, let registration):
            return try delete("registrations/\(registration)", prover: installation)
        case .uninstall(let installation):
            return try delete(
                "installations/\(installation.id)", authorization: "FIS_v2 \(installation.refreshToken)")
        }
    }

    private func post(
        _ path: String, _ body: some Encodable, prover: Installation? = nil, authorization: String? = nil
    ) throws -> MessagingHTTPRequest {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        var request = try self.request("POST", path, prover: prover, authorization: authorization)
        request.body = try encoder.encode(body)
        request.headers["Content-Type"] = "application/json"
        return request
    }

    private func delete(
        _ path: String, prover: Installation? = nil, authorization: String? = nil
    ) throws -> MessagingHTTPRequest {
        try request("DELETE", path, prover: prover, authorization: authorization)
    }

    private func request(
        _ method: String, _ path: String, prover: Installation?, authorization: String?
    ) throws -> MessagingHTTPRequest {
        var base = options.baseURL.absoluteString
        while base.last == "/" { base.removeLast() }
        guard let url = URL(string: "\(base)/v1/projects/\(options.project)/\(path)") else {
            throw MessagingError(.invalidRequest, "The base URL or the project is not usable: \(base).")
        }
        var headers = ["Accept": "application/json", "X-Goog-Api-Key": options.clientKey]
        headers["X-Goog-Firebase-Installations-Auth"] = prover?.auth.text
        headers["Authorization"] = authorization
        return MessagingHTTPRequest(method: method, url: url, headers: headers, body: nil)
    }

    // MARK: Answers

    private static func answer(to request: MessagingRequest, _ response: MessagingHTTPResponse) -> MessagingAnswer {
        guard (200..<300).contains(response.status) else { return .refused(refusal(response)) }
        do {
            return try answer(to: request, response.body)
        } catch {
            return .unanswered(
                MessagingError(.unknown, "The gateway's answer can't be read.", underlying: error))
        }
    }

    private static func answer(to request: MessagingRequest, _ body: Data) throws -> MessagingAnswer {
        let decoder = JSONDecoder()
        switch request {
        case .install:
            let answer = try decoder.decode(InstallAnswer.self, from: body)
            return .installed(
                id: answer.fid, refreshToken: answer.refreshToken, auth: answer.authToken.token,
                lifetime: answer.authToken.lifetime)
        case .renew:
            let answer = try decoder.decode(AuthAnswer.self, from: body)
            return .renewed(auth: answer.token, lifetime: answer.lifetime)
        case .register:
            let answer = try decoder.decode(RegisterAnswer.self, from: body)
            return .registered(id: String(answer.name.split(separator: "/").last ?? ""), token: answer.token)
        case .changeTopic, .report, .unregister, .uninstall: return .done
        }
    }

    private static func refusal(_ response: MessagingHTTPResponse) -> GatewayRefusal {
        // An answer of something before the gateway is no JSON, and then the status is all there is.
        let envelope = try? JSONDecoder().decode(ErrorEnvelope.self, from: response.body)
        return GatewayRefusal(
            status: response.status, reason: envelope?.error.reason,
            message: envelope?.error.message ?? "The gateway answered with status \(response.status).",
            retryAfter: response.headers["retry-after"].flatMap(TimeInterval.init))
    }
}
