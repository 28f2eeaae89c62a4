import HummingbirdCore
import NIOCore

/// The body of a request that is read while the request is being answered.
enum RequestBodyStream {
    private typealias Parts = NIOThrowingAsyncSequenceProducer<
        ByteBuffer, any Error, NIOAsyncSequenceProducerBackPressureStrategies.HighLowWatermark, Reading
    >
    /// Where the parts of the body go.
    typealias Source = NIOThrowingAsyncSequenceProducer<
        ByteBuffer, any Error, NIOAsyncSequenceProducerBackPressureStrategies.HighLowWatermark, Reading
    >.Source

    /// Parts that wait for the reader before the stream is no longer read, and at which it is again. A part is a frame.
    private static let watermarks = (low: 2, high: 10)

    /// Hears when the body's reader takes more.
    struct Reading: NIOAsyncSequenceProducerDelegate {
        fileprivate let resume: @Sendable () -> Void

        func produceMore() { resume() }

        /// What is left of the body is read and dropped (``RestDropper``).
        func didTerminate() { resume() }
    }

    /// A body, and where its parts go.
    ///
    /// - Parameter resume: called on any thread when the reader takes more, or takes no more at all.
    static func make(resume: @escaping @Sendable () -> Void) -> (body: RequestBody, source: Source) {
        let parts = Parts.makeSequence(
            backPressureStrategy: .init(lowWatermark: watermarks.low, highWatermark: watermarks.high),
            finishOnDeinit: false, delegate: Reading(resume: resume))
        return (RequestBody(asyncSequence: parts.sequence), parts.source)
    }
}
