import JSON
import PushModel
import Upstream

/// An access token as the token endpoint gave it (RFC 6749 §5.1). A secret.
struct TokenAnswer: Sendable {
    let token: String
    /// From now on.
    let lifetime: Duration

    /// Shorter than this a token is not worth having; longer than a day none lives.
    private static let lifetimes: ClosedRange<Int64> = 1...86_400

    /// Reads an answer of the token endpoint.
    static func reading(_ answer: ServiceAnswer, at now: Timestamp) -> Result<TokenAnswer, TokenRefusal> {
        switch answer {
        case .notSent(let cause), .unknown(let cause):
            return .failure(TokenRefusal(.tokenUnavailable, cause.rawValue))
        case .answered(let content):
            // A body that is no JSON has no members.
            let body = (try? JSONValue(parsing: content.body)) ?? .null
            guard content.status == 200 else { return .failure(refusal(content, body, now)) }
            guard let token = body["access_token"]?.stringValue, !token.isEmpty,
                token.utf8.allSatisfy({ (0x21...0x7e).contains($0) })
            else {
                return .failure(TokenRefusal(.tokenUnavailable, "The answer 200 has no access_token."))
            }
            let seconds = min(max(body.seconds("expires_in") ?? 3600, lifetimes.lowerBound), lifetimes.upperBound)
            return .success(TokenAnswer(token: token, lifetime: .seconds(seconds)))
        }
    }

    private static func refusal(_ content: ServiceResponse, _ body: JSONValue, _ now: Timestamp) -> TokenRefusal {
        let error = body["error"]?.stringValue
        let description = body["error_description"]?.stringValue
        let said = [error, description].compactMap { $0 }.joined(separator: ": ")
        let detail = said.isEmpty ? "HTTP \(content.status)" : String(said.prefix(300))
        let isTransient =
            content.status == 408 || content.status == 429 || content.status >= 500
            || ["internal_failure", "server_error", "temporarily_unavailable"].contains(error)
        if isTransient { return TokenRefusal(.tokenUnavailable, detail, retryAfter: content.retryAfter(at: now)) }
        guard description?.contains("reasonable timeframe") == true else { return TokenRefusal(.tokenRefused, detail) }
        let skew = content.clockSkew(at: now).map {
            " This machine's clock is \($0.components.seconds) s ahead of Google's."
        }
        return TokenRefusal(.clockSkew, detail + (skew ?? ""))
    }
}

/// No access token is given.
struct TokenRefusal: Error, Hashable {
    let refusal: Refusal
    /// Why, in words without secrets.
    let detail: String
    let retryAfter: Duration?

    init(_ reason: Reason, _ detail: String, retryAfter: Duration? = nil) {
        refusal = FCMRelayReasonTable.refusal(reason)
        self.detail = detail
        self.retryAfter = retryAfter
    }

    /// The wait before the next try, after so many that failed in a row.
    ///
    /// | attempt            | 1    | 2   | 3   | … | at most |
    /// |--------------------|------|-----|-----|---|---------|
    /// | no answer, or 5xx  | 1 s  | 2 s | 4 s | … | 1 min   |
    /// | account refused    | 1 min| 2 min| 4 min| … | 15 min |
    func wait(attempt: Int) -> Duration {
        let isLasting = refusal.scope == .credential
        let first: Duration = isLasting ? .seconds(60) : .seconds(1)
        let longest: Duration = isLasting ? .seconds(900) : .seconds(60)
        return max(min(first * (1 << min(max(attempt, 1) - 1, 10)), longest), retryAfter ?? .zero)
    }
}

extension JSONValue {
    /// Whole seconds, as a number or as a string of digits.
    fileprivate func seconds(_ name: String) -> Int64? {
        switch self[name] {
        case .number(let text)?, .string(let text)?: Int64(text)
        case .null?, .bool?, .array?, .object?, nil: nil
        }
    }
}
