import Foundation

/// What the app hears of an event.
enum MessagingEffect: Hashable, Sendable {
    /// The app is registered, anew or still.
    case registered(AppRegistration)
    /// It did not come to that, for now.
    case registrationFailed(MessagingError)
    /// Its registration was ended.
    case unregistered(AppRegistration)
    /// A topic change was answered.
    case topicSettled(TopicChange, MessagingError?)
    /// A change of the user was answered, or another one stands in its place.
    case userSettled(UserChange, MessagingError?)
    /// A deletion was answered.
    case deletionSettled(MessagingError?)
    /// A request failed; for those who look for the cause.
    case failed(MessagingError)
}

/// What is to be done next.
enum MessagingAction: Hashable, Sendable {
    /// This request, and then to settle its answer.
    case send(MessagingRequest)
    /// What events have led to without a request.
    case tell([MessagingEffect])
    /// Nothing before an event, or before this time.
    case wait(until: Date?)
}
