import HTTPTypes
import Hummingbird
import HummingbirdCore
import NIOCore

/// One request of a batch: a part of type `application/http` that holds an HTTP/1.1 request.
struct BatchedRequest {
    /// `Content-ID` of the part, without its angle brackets.
    let id: String?
    /// The request, or why there is none.
    let request: Result<Request, FCMError>

    /// Whether it sends one message, so that its answer is small.
    var isSend: Bool {
        guard case .success(let request) = request else { return false }
        return request.method == .post && request.uri.path.hasSuffix("/messages:send")
    }

    /// The paths that take batches.
    static let batchPaths = ["/batch", "/v1"]

    /// Header fields that are the batch's own, or that make no sense within one. `Prefer`: a batch doesn't wait.
    private static let dropped: Set<String> = [
        "authorization", "x-goog-api-key", "connection", "content-length", "expect", "host", "keep-alive", "prefer",
        "te", "trailer", "upgrade", "x-forwarded-for",
    ]

    /// Reads a part.
    ///
    /// - Parameter shared: the batch's credentials and whom proxies asked for; a part's own do not count.
    init(part: [UInt8], shared: HTTPFields) {
        let header: HeaderBlock
        do throws(MultipartProblem) {
            header = try HeaderBlock(part, hasStartLine: false)
        } catch {
            id = nil
            request = .failure(Self.refusal(error))
            return
        }
        id = header["Content-ID"].flatMap(Self.id)
        request = Result { () throws(FCMError) in
            do throws(MultipartProblem) {
                return try Self.request(in: header, shared)
            } catch {
                throw Self.refusal(error)
            }
        }
    }

    private static func refusal(_ problem: MultipartProblem) -> FCMError { .badRequest("", problem.text) }

    /// The id goes back in a header: one that would not fit there is left out.
    private static func id(_ value: String) -> String? {
        let isBracketed = value.count >= 2 && value.hasPrefix("<") && value.hasSuffix(">")
        let id = isBracketed ? String(value.dropFirst().dropLast()) : value
        guard (1...512).contains(id.utf8.count), id.utf8.allSatisfy({ (0x20...0x7e).contains($0) }) else { return nil }
        return id
    }

    private static func request(
        in part: HeaderBlock, _ shared: HTTPFields
    ) throws(MultipartProblem) -> Request {
        let type = part["Content-Type"]?.prefix { $0 != ";" }.trimmingBlanks.lowercased()
        guard type == "application/http" else {
            throw MultipartProblem("The Content-Type of a part must be application/http.")
        }
        guard [nil, "binary", "7bit", "8bit"].contains(part["Content-Transfer-Encoding"]?.lowercased()) else {
            throw MultipartProblem("The Content-Transfer-Encoding of a part must be binary, 7bit or 8bit.")
        }
        let message = try HeaderBlock(Array(part.body), hasStartLine: true)
        let line = (message.startLine ?? "").split(separator: " ", omittingEmptySubsequences: false)
        guard line.count == 3, line[2].hasPrefix("HTTP/1."), let method = HTTPRequest.Method(String(line[0])) else {
            throw MultipartProblem("A part must begin with a request line: METHOD /path HTTP/1.1.")
        }
        let path = try path(of: line[1])
        let body = try body(of: message)
        var fields = try self.fields(of: message)
        for field in shared { fields.append(field) }
        fields[.contentLength] = String(body.count)
        return Request(
            head: HTTPRequest(method: method, scheme: nil, authority: nil, path: path, headerFields: fields),
            body: .init(buffer: ByteBuffer(bytes: body)))
    }

    /// Path and query; of an absolute target, those behind the host.
    private static func path(of target: Substring) throws(MultipartProblem) -> String {
        var path = target
        for scheme in ["https://", "http://"] where target.prefix(scheme.count).lowercased() == scheme {
            path = target.dropFirst(scheme.count).drop { $0 != "/" }
        }
        guard path.hasPrefix("/"), path.utf8.allSatisfy({ (0x21...0x7e).contains($0) }) else {
            throw MultipartProblem("The target of a part must be a path, or a URL with one.")
        }
        var plain = path.prefix { $0 != "?" }
        while plain.count > 1, plain.hasSuffix("/") { plain = plain.dropLast() }
        guard !batchPaths.contains(String(plain)) else { throw MultipartProblem("A batch can't hold a batch.") }
        return String(path)
    }

    private static func fields(of message: HeaderBlock) throws(MultipartProblem) -> HTTPFields {
        var fields = HTTPFields()
        for field in message.fields {
            guard let name = HTTPField.Name(field.name), HTTPField.isValidValue(field.value) else {
                throw MultipartProblem("A part has a header field that is none of HTTP.")
            }
            if !dropped.contains(name.canonicalName) { fields.append(HTTPField(name: name, value: field.value)) }
        }
        return fields
    }

    /// The body ends with the part: some clients count characters into their `Content-Length`, which may be too few.
    private static func body(of message: HeaderBlock) throws(MultipartProblem) -> ArraySlice<UInt8> {
        guard message["Transfer-Encoding"] == nil else {
            throw MultipartProblem("A part has no Transfer-Encoding of its own.")
        }
        if let length = message["Content-Length"] {
            guard let length = Int(length), length >= 0 else {
                throw MultipartProblem("The Content-Length in a part is no number.")
            }
            guard length <= message.body.count else {
                throw MultipartProblem("A part is shorter than its Content-Length.")
            }
        }
        return message.body
    }
}
