package import PushModel

/// FCM's limits of device groups.
package enum DeviceGroupLimit {
    /// The most registrations of a group.
    package static let members = 20
}

/// What became of a change of a device group. Everything but ``done(_:)`` says that nothing was changed.
package enum DeviceGroupResult: Hashable, Sendable {
    /// It is done; the group's key.
    case done(NotificationKey)
    /// The project has a group of this name already.
    case nameTaken
    /// The project has no group with this key.
    case notFound
    /// The group has another name than the one that was given.
    case otherName
    /// None of the registrations is active.
    case noneActive
    /// The group would have more than ``DeviceGroupLimit/members``.
    case tooMany
}

/// Device groups: registrations of a project under one key. A group is in one project, a registration in any number of
/// groups; one that ends falls out of all of them. A group whose members all ended stays, without members, so that its key
/// stays valid; only ``remove(_:from:named:in:)`` deletes it.
package protocol DeviceGroupStore: Sendable {
    /// Makes a group of those of `members` that are active registrations of the project.
    func createGroup(
        _ name: DeviceGroupName, of members: [RegistrationKey], in project: ProjectID, at time: Timestamp
    ) async throws(StoreError) -> DeviceGroupResult

    /// Adds those of `members` that are active registrations of the project; who is in the group already stays.
    ///
    /// - Parameter name: what the group must be called; `nil`: anything.
    func add(
        _ members: [RegistrationKey], to key: NotificationKey, named name: DeviceGroupName?, in project: ProjectID
    ) async throws(StoreError) -> DeviceGroupResult

    /// Removes members; who is not in the group is passed over. A group that has no member left is deleted.
    ///
    /// - Parameter name: what the group must be called; `nil`: anything.
    func remove(
        _ members: [RegistrationKey], from key: NotificationKey, named name: DeviceGroupName?, in project: ProjectID
    ) async throws(StoreError) -> DeviceGroupResult

    /// The key of the group of this name.
    func notificationKey(
        of name: DeviceGroupName, in project: ProjectID
    ) async throws(StoreError) -> NotificationKey?

    /// The members of a group, active registrations in ascending order; `nil`: there is no such group.
    func members(of key: NotificationKey, in project: ProjectID) async throws(StoreError) -> [Registration]?
}
