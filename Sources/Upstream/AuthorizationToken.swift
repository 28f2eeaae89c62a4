package import PushModel

/// A token, ready for the `authorization` header. A secret.
package struct AuthorizationToken: Sendable {
    /// The value of the header field, such as `bearer <JWT>`.
    package let authorization: String
    /// When it was issued, by the token itself.
    package let issuedAt: Timestamp
    /// Tokens of one series may follow each other on the same connections. One of the next series needs new
    /// connections.
    package let series: Int
    /// Which of its source's tokens it is: a later one has a higher number, whatever the clock says.
    package var number: Int

    /// Describes a token.
    package init(authorization: String, issuedAt: Timestamp, series: Int, number: Int = 0) {
        self.authorization = authorization
        self.issuedAt = issuedAt
        self.series = series
        self.number = number
    }
}

/// Gives the tokens of one credential, shared by all upstreams that use it.
package protocol AuthorizationSource: AnyObject, Sendable {
    /// Has a token ready that others are asked for; returns in seconds at most. Called before ``current()`` where requests may
    /// wait, never on a loop thread.
    func prepare() async

    /// The token to send now.
    func current() throws(AuthorizationFailure) -> AuthorizationToken

    /// Takes note that the service called the token that was issued then expired. Called on a loop thread: must not
    /// block.
    func expire(_ issuedAt: Timestamp)
}

extension AuthorizationSource {
    /// Nothing has to be asked for.
    package func prepare() async {}
}

/// No token could be made.
package struct AuthorizationFailure: Error, Hashable, Sendable {
    /// Why, in words without secrets.
    package let message: String

    /// Describes a failure.
    package init(message: String) {
        self.message = message
    }
}

/// Time since some moment, on a clock that nothing sets: for pauses and limits, which a wall clock would spoil.
package typealias Uptime = @Sendable () -> Duration
