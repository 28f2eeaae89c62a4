/// To whom a message goes, resolved from its ``Target``.
///
/// The same at each step of a message's way but for what stands for the registrations that it names one by one: at
/// accept `One` is the registration and `Many` are those with their apps, on the way into the store both are keys, and
/// of what is accepted the FID and a number are left.
package enum Recipient<One, Many> {
    /// One registration.
    case registration(One)
    /// Everyone who subscribed to the topic by the time of accept.
    case topic(Topic)
    /// Everyone for whom the condition held by the time of accept.
    case condition(Condition)
    /// The registrations that a multicast names.
    case list(Many)
    /// The active registrations that a user had at accept.
    case user(UserID, Many)

    /// Whether it is more than one registration by its target.
    package var isMany: Bool {
        if case .registration = self { false } else { true }
    }

    /// The same recipient with something else in the place of what it names.
    package func map<NewOne, NewMany>(
        _ one: (One) -> NewOne, many: (Many) -> NewMany
    ) -> Recipient<NewOne, NewMany> {
        switch self {
        case .registration(let registration): .registration(one(registration))
        case .topic(let topic): .topic(topic)
        case .condition(let condition): .condition(condition)
        case .list(let registrations): .list(many(registrations))
        case .user(let user, let registrations): .user(user, many(registrations))
        }
    }
}

extension Recipient: Sendable where One: Sendable, Many: Sendable {}
extension Recipient: Equatable where One: Equatable, Many: Equatable {}
extension Recipient: Hashable where One: Hashable, Many: Hashable {}
