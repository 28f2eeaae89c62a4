/// What the end of a connection says about its peer, for the dial plan: whether it has proven itself, and what of its going
/// is counted already. A value without clock or I/O.
enum ConnectionStanding {
    /// No answer has shown that the peer accepts us. Next: givenUp, unwanted, proven.
    case unproven
    /// The first answer was too slow, which was counted as a failed dial. Next: proven, if the answer comes after all.
    case givenUp
    /// The pool retired it before it proved itself: its end is no failed dial. Next: leaving.
    case unwanted
    /// An answer showed that the peer accepts us. Next: leaving, lasted.
    case proven
    /// It goes before it has lasted: that is counted, or is the pool's own doing. Next: lasted.
    case leaving
    /// It has ended the row of failed dials before it. Next: nothing.
    case lasted

    /// Whether an answer showed that the peer accepts us.
    var isProven: Bool {
        switch self {
        case .unproven, .givenUp, .unwanted: false
        case .proven, .leaving, .lasted: true
        }
    }

    /// Whether its end counts as a failed dial.
    var isFailureDue: Bool {
        switch self {
        case .unproven: true
        case .givenUp, .unwanted, .proven, .leaving, .lasted: false
        }
    }

    /// An answer shows that the peer accepts us.
    ///
    /// - Returns: whether it is the first.
    mutating func prove() -> Bool {
        switch self {
        case .unproven, .givenUp: self = .proven
        case .unwanted: self = .leaving
        case .proven, .leaving, .lasted: return false
        }
        return true
    }

    /// The first answer is too slow.
    ///
    /// - Returns: whether that is to be counted as a failed dial.
    mutating func giveUp() -> Bool {
        switch self {
        case .unproven: self = .givenUp
        case .givenUp, .unwanted, .proven, .leaving, .lasted: return false
        }
        return true
    }

    /// The pool does not need it any more.
    mutating func retire() {
        switch self {
        case .unproven: self = .unwanted
        case .proven: self = .leaving
        case .givenUp, .unwanted, .leaving, .lasted: break
        }
    }

    /// A proven connection goes before it has lasted.
    ///
    /// - Returns: whether that is to be counted.
    mutating func leave() -> Bool {
        switch self {
        case .proven: self = .leaving
        case .unproven, .givenUp, .unwanted, .leaving, .lasted: return false
        }
        return true
    }

    /// A proven connection has lived for long enough.
    ///
    /// - Returns: whether it ends the row of failed dials before it.
    mutating func last() -> Bool {
        switch self {
        case .proven, .leaving: self = .lasted
        case .unproven, .givenUp, .unwanted, .lasted: return false
        }
        return true
    }
}
