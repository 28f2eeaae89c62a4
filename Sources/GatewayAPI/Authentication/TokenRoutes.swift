import HTTPTypes
import Hummingbird
import JSON
import NIOCore
import PushModel
import Store

/// The token endpoint: a service account's signed assertion for an access token (RFC 7523, fcm.md §1.3).
enum TokenRoutes {
    /// The endpoint's path.
    static let path = Assertion.exchangePath

    static let all: [Route] = [.open(.post, path, exchange)]

    private static let grantType = "urn:ietf:params:oauth:grant-type:jwt-bearer"

    /// The same assertion may be exchanged again until it is over: SDKs repeat it, and two processes that start in the
    /// same second send the same one (fcm.md §10.2).
    @Sendable private static func exchange(_ call: Call) async throws -> Response {
        let body = try await call.body()
        let request: TokenRequest
        do throws(TokenRequest.Problem) {
            request = try TokenRequest(body, contentType: call.request.headers[.contentType])
        } catch {
            return refusal("invalid_request", error.text)
        }
        guard request.grantType == grantType else {
            return refusal("unsupported_grant_type", "Invalid grant_type: it must be \(grantType).")
        }
        let now = call.services.wallTime()
        let store = call.services.store
        let signer: ServiceAccountIdentity
        let isCounted = try await call.countAuthentication(by: request.assertion)
        do throws(Assertion.Problem) {
            let assertion = try Assertion(request.assertion, at: now)
            signer = try await call.signers.signer(of: assertion)
            try assertion.checkForExchange(by: signer.key, publicURL: call.services.publicURL())
            if isCounted { call.authenticationSucceeded() }
            call.proveConnection()
        } catch {
            if case .store(let error) = error {
                if isCounted { call.authenticationSucceeded() }
                throw FCMError(error)
            }
            return refusal("invalid_grant", error.text)
        }
        let token = AccessToken(for: signer.key.id, at: now)
        guard try await store.insert(token.record) else {
            // Deleted since it was asked for.
            return refusal("invalid_grant", Assertion.Problem.signature.text)
        }
        return answer(
            .object([
                .init("access_token", .string(token.text)),
                // One less: what is on its way is a moment old when it arrives.
                .init("expires_in", .integer(AccessToken.lifetime.components.seconds - 1)),
                .init("token_type", .string("Bearer")),
            ]), status: .ok)
    }

    private static func refusal(_ error: String, _ description: String) -> Response {
        answer(FCMError.tokenBody(error, description), status: .badRequest)
    }

    // RFC 6749 §5.1: no cache keeps such an answer.
    private static func answer(_ body: JSONValue, status: HTTPResponse.Status) -> Response {
        var response = Response(json: body, status: status)
        response.headers[.cacheControl] = "no-store"
        response.headers[.pragma] = "no-cache"
        return response
    }
}

/// The form that a token is asked for with.
private struct TokenRequest {
    let grantType: String
    let assertion: String

    enum Problem: Error {
        case contentType, form, missing(String)

        var text: String {
            switch self {
            case .contentType: "The body must be application/x-www-form-urlencoded."
            case .form: "The body is not a form, or says a parameter twice."
            case .missing(let name): "Missing required parameter: \(name)"
            }
        }
    }

    init(_ body: RequestBody, contentType: String?) throws(Problem) {
        guard contentType?.lowercased().hasPrefix("application/x-www-form-urlencoded") == true else {
            throw .contentType
        }
        guard let form = FormReader(body.bytes.readableBytesView) else { throw .form }
        guard let grantType = form["grant_type"] else { throw .missing("grant_type") }
        guard let assertion = form["assertion"] else { throw .missing("assertion") }
        self.grantType = grantType
        self.assertion = assertion
    }
}

extension HTTPField.Name {
    /// `Pragma`.
    fileprivate static let pragma = HTTPField.Name("Pragma")!
}
