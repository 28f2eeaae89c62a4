import HTTPListener
import HTTPTypes
import JSON
import NIOCore
import PushModel

extension FCMError {
    /// A request that the listener refuses by itself.
    init(_ fault: RequestFault) {
        switch fault {
        case .incomplete: self.init(Code.requestTimeout)
        case .stopping: self.init(Code.unavailable)
        case .malformed: self.init(.badRequest, "The request is not valid HTTP.", reason: .incompleteRequest)
        case .headerTooLarge: self.init(Code.headerTooLarge)
        case .ambiguousHost:
            self = .badRequest(
                "Host", "A request names exactly one host, by its target or its Host field (RFC 9112 section 3.2).")
        }
    }
}

extension FaultAnswer {
    /// The gateway's answer to a request that the listener refuses by itself.
    init(_ fault: RequestFault, path: String) {
        let error = FCMError(fault)
        self.init(
            status: HTTPResponse.Status(code: error.code.httpStatus), contentType: "application/json; charset=UTF-8",
            body: ByteBuffer(bytes: error.json(for: path).bytes))
    }
}
