import PushModel

extension FCMError {
    /// A registration that no message to it alone is taken for, with why, as far as it is known; `nil`: there
    /// is none of this name. Another project's FID is as unknown as one that never was: nothing is revealed.
    static func unregistered(_ registration: Registration?) -> FCMError {
        guard let registration else { return FCMError(.unregistered) }
        var error: FCMError
        if let end = registration.end {
            error = FCMError(.unregistered, reason: .registrationEnded)
            error.metadata = ["endCause": end.cause.rawValue.uppercased(), "endTime": end.time.rfc3339]
        } else if let quarantine = registration.quarantine {
            error = FCMError(.unregistered, reason: .registrationQuarantined)
            error.metadata = [
                registration.address.platform.reasonName: quarantine.reason.rawValue,
                "quarantineTime": quarantine.time.rfc3339,
            ]
        } else {
            error = FCMError(.unregistered)
        }
        return error
    }
}
