/// Where a pool connects to, and how it behaves.
package struct PoolConfiguration: Sendable {
    /// Host name or IP address to connect to.
    package var host: String
    /// TCP port.
    package var port: Int
    /// The name for SNI, certificate check and `:authority`; `nil`: `host`.
    package var serverName: String?
    /// The authorities to trust.
    package var trust: TLSTrust = .system
    /// Which addresses of ``host`` are dialed. With a proxy it does the dialing, and so the choosing.
    package var addresses = AddressPolicy.any
    /// The HTTP proxy that the way leads through; looking up ``host`` is its job then. `nil`: none.
    package var proxy: HTTPProxy?
    /// The certificate to show when the peer asks for one; `nil`: none.
    package var identity: TLSIdentity?
    /// The most connections at a time, at least 1. On top of them come one that takes urgent requests only, while there
    /// are any (with three or more), and one that takes the place of another that is held at one stream or silent.
    package var connectionLimit = 4
    /// Whether it goes on the loop of the pool that was opened last: pools that carry the same load in turn should not
    /// leave a loop idle.
    package var isBesideLast = false
    /// The most streams used on one connection, whatever the peer allows.
    package var streamLimit = 1000
    /// The most requests that wait for a stream, urgent ones and the others each by themselves; `submit` suspends beyond
    /// it. To keep all streams busy it must be larger
    /// than ``connectionLimit`` × ``streamLimit``: so many can come free in one turn, and callers are let in again once
    /// an eighth of the queue is free.
    package var queueLimit = 10_000
    /// From dialing to the peer's SETTINGS.
    package var connectTimeout: Duration = .seconds(10)
    /// How long the pool waits for the first answer on a new connection before it dials another one instead. The request
    /// itself has its whole ``streamTimeout``.
    package var warmingTimeout: Duration = .seconds(5)
    /// How long an address may stay silent until the next one is tried beside it (RFC 8305 §5, which recommends 250 ms
    /// and forbids less than 10 ms). An address that fails makes room at once.
    package var attemptDelay: Duration = .milliseconds(250)
    /// From the request's HEADERS to the end of its answer.
    package var streamTimeout: Duration = .seconds(30)
    /// How long a request may wait for a stream before it ends as `notSent`.
    package var queueTimeout: Duration = .seconds(30)
    /// How long after ``ConnectionPool/reconsider()`` those that come to wait are asked about too: they were wanted when
    /// they set out.
    package var reconsiderTime: Duration = .seconds(1)
    /// How long a request counts as wanted since it was submitted. Before a stream opens for one that waited longer, the
    /// submitter is asked: the process may have been stopped meanwhile.
    package var wantedTime: Duration = .seconds(1)
    /// Silence after which a PING is sent before the connection is trusted again, and while answers are outstanding. Zero:
    /// none is sent.
    package var pingInterval: Duration = .seconds(20)
    /// How long a PING may go unanswered.
    package var pingTimeout: Duration = .seconds(5)
    /// How long a PING may go unanswered until another connection is dialed beside the one that owes the answer, when
    /// requests wait and no other connection works.
    package var doubtTime: Duration = .milliseconds(500)
    /// How long a connection is used, up to a fifth more or less by chance: then its streams end in their own time, and a
    /// new one takes its place.
    package var connectionLifetime: Duration = .seconds(12 * 3600)
    /// How long a draining connection may finish its streams.
    package var drainTimeout: Duration = .seconds(10)
    /// How long a connection must live to end the row of failed dials before it.
    package var lastingTime: Duration = .seconds(10)
    /// Pause after the first failed dial; doubles with jitter…
    package var backOffFloor: Duration = .seconds(1)
    /// …up to this.
    package var backOffCeiling: Duration = .seconds(60)
    /// The most dials under way at a time; one until a connection has proven itself.
    package var dialLimit = 3
    /// Dials that the pool adds to the burst that its endpoint (``host`` and ``port``) may have, at least
    /// ``connectionLimit``…
    package var dialBurst = 4
    /// …and the least time, prolonged by up to half of it at random, after which one more is allowed to any of the
    /// endpoint's pools. That of the pool that was opened first holds.
    package var dialInterval: Duration = .seconds(1)
    /// Failed dials in a row after which requests end as `notSent` at once instead of waiting for a connection, until
    /// the pause after the last failure is over. See ``Circuit``.
    package var circuitLimit = 5
    /// Whether requests end as `notSent`, with ``TransportFailure/lacksHTTP2``, as soon as a dial shows that the peer does not
    /// speak HTTP/2: they are sent in another way. That is no failed dial then.
    package var leavesWithoutHTTP2 = false
    /// Called on a loop thread, or that of another client beside the pool, when ``PoolStatistics/nextDial``, `isTrying`, or whether any connection works
    /// has changed. It must not block.
    package var reachChanged: (@Sendable () -> Void)?
    /// The most bytes of an answer's body that are kept.
    package var responseLimitBytes = 16_384
    /// The names of the answers' header fields that are kept, in lower case; `nil`: all. What is not asked for costs
    /// nothing.
    package var responseFields: [String]?
    /// The names of header fields that are kept of one answer in each read from a connection, in lower case: for what says
    /// the same in all of them, such as `date`.
    package var sampledFields: [String] = []
    /// So many answers in a row with status 500, and a connection is replaced: the peer may hold something against this one
    /// alone. At least 1.
    package var serverErrorLimit = 20
    /// No connection is replaced for that reason sooner after another. While that does not help, the time doubles with
    /// each: see ``ServerErrorPause``.
    package var serverErrorInterval: Duration = .seconds(30)

    /// Whether an answer with this status shows that the peer accepts this sender: until the first such answer a
    /// connection uses one stream. By default anything but 403, with which a credential is refused.
    package var provesConnection: @Sendable (_ status: Int) -> Bool = { $0 != 403 }

    /// Makes a configuration with default limits.
    package init(host: String, port: Int) {
        self.host = host
        self.port = port
    }
}

extension PoolConfiguration {
    /// What the pool adds to its endpoint's burst of dials.
    var burst: Int { max(1, dialBurst, connectionLimit) }
}
