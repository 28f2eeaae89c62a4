/// How a request ended.
package struct RequestCompletion: Sendable {
    /// The request's place in the submitted batch.
    package let index: Int
    /// How it ended.
    package let exchange: Exchange
    /// From `submit` to the end.
    package var latency: Duration { .nanoseconds(latencyNanoseconds) }
    /// From the request's HEADERS to the end, both to the turn of the loop: the part of ``latency`` that is not the
    /// wait for a stream. `nil` when no stream was opened for it.
    package var streamLatency: Duration? {
        streamNanoseconds < 0 ? nil : .nanoseconds(streamNanoseconds)
    }

    /// Whole numbers: a `Duration` has 128 bits, and not everybody asks for it.
    private let latencyNanoseconds: Int64
    /// -1: none.
    private let streamNanoseconds: Int64

    init(index: Int, exchange: Exchange, latencyNanoseconds: Int64, streamNanoseconds: Int64?) {
        self.index = index
        self.exchange = exchange
        self.latencyNanoseconds = latencyNanoseconds
        self.streamNanoseconds = streamNanoseconds ?? -1
    }

    /// An end without a stream.
    package init(index: Int, exchange: Exchange, latency: Duration) {
        self.init(
            index: index, exchange: exchange, latencyNanoseconds: latency.wholeNanoseconds, streamNanoseconds: nil)
    }
}
