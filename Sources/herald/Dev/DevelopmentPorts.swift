import ServiceLifecycle

/// Where the simulators of `herald dev` listen.
struct DevelopmentPorts: Sendable {
    var apns: Int
    /// The management of channels; `nil`: nowhere.
    var channels: Int?
    var google: Int
    var push: Int
    var pushControl: Int

    /// What the simulators say once they listen.
    struct Announcements: Sendable {
        let apns: AsyncStream<Int>.Continuation
        let google: AsyncStream<Int>.Continuation
        let push: AsyncStream<(port: Int, controlPort: Int)>.Continuation
        private let apnsPorts: AsyncStream<Int>
        private let googlePorts: AsyncStream<Int>
        private let pushPorts: AsyncStream<(port: Int, controlPort: Int)>

        init() {
            (apnsPorts, apns) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
            (googlePorts, google) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
            (pushPorts, push) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
        }

        /// The ports, once all listen; `nil`: a shutdown came first. To be called once.
        func ports() async -> DevelopmentPorts? {
            guard let apns = await apnsPorts.cancelOnGracefulShutdown().first(where: { _ in true }),
                let google = await googlePorts.cancelOnGracefulShutdown().first(where: { _ in true }),
                let push = await pushPorts.cancelOnGracefulShutdown().first(where: { _ in true })
            else { return nil }
            return DevelopmentPorts(apns: apns, google: google, push: push.port, pushControl: push.controlPort)
        }
    }
}
