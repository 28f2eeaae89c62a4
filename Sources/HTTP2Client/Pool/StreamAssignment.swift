/// What ``StreamAssignment`` sees of a connection.
protocol StreamSource: AnyObject {
    /// Streams that may be opened now.
    var freeStreams: Int { get }
    /// The same for requests that are not urgent.
    var freeNormalStreams: Int { get }
    /// Streams in use.
    var openStreams: Int { get }
    /// An answer showed that the peer accepts us.
    var isProven: Bool { get }
    /// It takes no more requests.
    var isDraining: Bool { get }
}

/// Which connection the next requests go to: the one with the most free streams; urgent ones go to a connection of their
/// own while there are any, if enough connections work. A value: no I/O, and the time is a parameter.
struct StreamAssignment<Source: StreamSource> {
    /// What is to be done next.
    enum Action {
        /// Open streams on this connection for urgent requests.
        case openUrgent(Source)
        /// Open streams on this connection for the others.
        case openNormal(Source)
    }

    /// The connection that takes urgent requests only.
    private(set) var reserved: Source?
    /// Urgent requests have come so lately that they have a connection of their own.
    private var reservedUntil = Instant(nanoseconds: .min)
    /// So lately that there may be a connection more.
    private(set) var extraUntil = Instant(nanoseconds: .min)

    /// How long after the last urgent request a connection is kept for the next one.
    private static var reservedNanoseconds: Int64 { 10_000_000_000 }
    /// How long after the last urgent request there may be a connection more: long, because opening and closing them often
    /// looks like an attack.
    private static var extraNanoseconds: Int64 { 300_000_000_000 }
    /// With fewer connections one is too much to give.
    private static var connectionsWithReserved: Int { 3 }

    /// Whether there may be a connection beyond this limit, so that the others keep all of theirs.
    func allowsExtra(beyond limit: Int, at now: Instant) -> Bool {
        now < extraUntil && limit >= Self.connectionsWithReserved
    }

    /// Chooses a connection for urgent requests alone, while there are any: on the others all that is in flight lies
    /// before them, on the way and in the peer, which works off a connection in order.
    mutating func reserve(among sources: [Source], hasUrgent: Bool, at now: Instant) {
        if hasUrgent {
            reservedUntil = now.adding(nanoseconds: Self.reservedNanoseconds)
            extraUntil = now.adding(nanoseconds: Self.extraNanoseconds)
        }
        guard now < reservedUntil else {
            reserved = nil
            return
        }
        var working = 0
        var idlest: Source?
        for source in sources where source.isProven && !source.isDraining {
            working += 1
            if source.openStreams < idlest?.openStreams ?? .max { idlest = source }
        }
        if working < Self.connectionsWithReserved {
            reserved = nil
        } else if reserved?.isDraining ?? true {
            reserved = idlest
        }
    }

    /// A connection is gone.
    mutating func remove(_ source: Source) {
        if source === reserved { reserved = nil }
    }

    /// What to do while requests wait; `nil`: there is no stream for them.
    func next(among sources: [Source], hasUrgent: Bool, hasNormal: Bool) -> Action? {
        if hasUrgent {
            if let reserved, reserved.freeStreams > 0 { return .openUrgent(reserved) }
            if let source = Self.roomiest(of: sources, by: { $0.freeStreams }) { return .openUrgent(source) }
        }
        guard hasNormal, let source = Self.roomiest(of: sources, by: freeNormalStreams(of:)) else { return nil }
        return .openNormal(source)
    }

    /// Streams that may be opened now for requests that are not urgent: none on what is kept for urgent ones.
    func freeNormalStreams(of source: Source) -> Int {
        source === reserved ? 0 : source.freeNormalStreams
    }

    private static func roomiest(of sources: [Source], by freeStreams: (Source) -> Int) -> Source? {
        var best: (source: Source, free: Int)?
        for source in sources {
            let free = freeStreams(source)
            if free > best?.free ?? 0 { best = (source, free) }
        }
        return best?.source
    }
}
