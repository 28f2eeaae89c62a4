import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdCore
import Logging

extension HTTPResponder where Context: InitializableFromSource<ApplicationRequestContextSource> {
    /// Answers requests with this responder, and adds what each answer has: `Date` and `Server`. An error that the responder
    /// made no answer of is a 500.
    ///
    /// - Parameters:
    ///   - serverName: the `Server` of answers.
    ///   - logger: that of requests.
    func answering(as serverName: String, logger: Logger) -> RequestResponder {
        let date = DateHeader()
        return { request, channel in
            let context = Context(source: ApplicationRequestContextSource(channel: channel, logger: logger))
            var response: Response
            do {
                response = try await respond(to: request, context: context)
            } catch {
                logger.debug("Request ended with an error", metadata: ["error": "\(error)"])
                response = Response(status: .internalServerError)
            }
            response.headers[.date] = date.text(at: Int64(Date().timeIntervalSince1970))
            response.headers[.server] = serverName
            return response
        }
    }
}
