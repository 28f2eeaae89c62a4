package import PushModel
package import Store

extension SQLStore: DeviceGroupStore {
    /// Makes a group in one transaction, with a key from the system's generator of random numbers.
    package func createGroup(
        _ name: DeviceGroupName, of members: [RegistrationKey], in project: ProjectID, at time: Timestamp
    ) async throws(StoreError) -> DeviceGroupResult {
        var random = SystemRandomNumberGenerator()
        let key = NotificationKey(using: &random)
        return try await write { db in
            try DeviceGroupTable(db: db, project: project).create(name, key, of: members, at: time)
        }
    }

    /// Adds members in one transaction.
    package func add(
        _ members: [RegistrationKey], to key: NotificationKey, named name: DeviceGroupName?, in project: ProjectID
    ) async throws(StoreError) -> DeviceGroupResult {
        try await write { db in
            try DeviceGroupTable(db: db, project: project).add(members, to: key, named: name)
        }
    }

    /// Removes members, and the group with the last of them, in one transaction.
    package func remove(
        _ members: [RegistrationKey], from key: NotificationKey, named name: DeviceGroupName?, in project: ProjectID
    ) async throws(StoreError) -> DeviceGroupResult {
        try await write { db in
            try DeviceGroupTable(db: db, project: project).remove(members, from: key, named: name)
        }
    }

    /// The key of a group.
    package func notificationKey(
        of name: DeviceGroupName, in project: ProjectID
    ) async throws(StoreError) -> NotificationKey? {
        try await lookUp { db in try DeviceGroupTable(db: db, project: project).key(of: name) }
    }

    /// The members of a group, in one snapshot with the look-up of the group.
    package func members(
        of key: NotificationKey, in project: ProjectID
    ) async throws(StoreError) -> [Registration]? {
        try await lookUp { db in
            let groups = DeviceGroupTable(db: db, project: project)
            return try groups.find(key).map { try groups.members(of: $0.id) }
        }
    }
}

/// The device groups of a project within one transaction.
struct DeviceGroupTable {
    let db: any Database
    let project: ProjectID

    static let byKey = "SELECT id, name FROM device_group WHERE key = ? AND project = ?"
    static let keyByName = "SELECT key FROM device_group WHERE project = ? AND name = ?"
    static let active = """
        SELECT r.key FROM registration r CROSS JOIN app a ON a.id = r.app
        WHERE r.key = ? AND r.ended_at IS NULL AND a.project = ?
        """
    static let membersOf = """
        SELECT \(Registration.joinedColumns) FROM device_group_member m CROSS JOIN registration r ON r.key = m.registration
        CROSS JOIN app a ON a.id = r.app WHERE m.device_group = ? ORDER BY m.registration
        """
    static let memberKeys = "SELECT registration FROM device_group_member WHERE device_group = ?"
    static let insertMember = "INSERT INTO device_group_member (device_group, registration) VALUES (?, ?)"
    static let removeMember = "DELETE FROM device_group_member WHERE device_group = ? AND registration = ?"
    static let removeEmpty = """
        DELETE FROM device_group
        WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM device_group_member WHERE device_group = ?1)
        """

    func find(_ key: NotificationKey) throws -> (id: Int64, name: DeviceGroupName)? {
        try db.row(Self.byKey, [key.rawValue, project.rawValue]).map { ($0[0], try DeviceGroupName(stored: $0[1])) }
    }

    func key(of name: DeviceGroupName) throws -> NotificationKey? {
        try db.row(Self.keyByName, [project.rawValue, name.rawValue]).map { try NotificationKey(stored: $0[0]) }
    }

    func members(of group: Int64) throws -> [Registration] {
        try db.rows(Self.membersOf, [group]).map { try Registration(row: $0) }
    }

    func create(
        _ name: DeviceGroupName, _ key: NotificationKey, of members: [RegistrationKey], at time: Timestamp
    ) throws -> DeviceGroupResult {
        guard try self.key(of: name) == nil else { return .nameTaken }
        let active = try active(members)
        guard !active.isEmpty else { return .noneActive }
        guard active.count <= DeviceGroupLimit.members else { return .tooMany }
        let group = try db.insert(
            "INSERT INTO device_group (project, name, key, created_at) VALUES (?, ?, ?, ?)",
            [project.rawValue, name.rawValue, key.rawValue, time.milliseconds], key: "id")
        try insert(active, into: group)
        return .done(key)
    }

    func add(
        _ members: [RegistrationKey], to key: NotificationKey, named name: DeviceGroupName?
    ) throws -> DeviceGroupResult {
        guard let group = try find(key) else { return .notFound }
        guard name == nil || name == group.name else { return .otherName }
        let active = try active(members)
        guard !active.isEmpty else { return .noneActive }
        let present = Set(try db.numbers(Self.memberKeys, [group.id]))
        let new = active.subtracting(present)
        guard present.count + new.count <= DeviceGroupLimit.members else { return .tooMany }
        try insert(new, into: group.id)
        return .done(key)
    }

    func remove(
        _ members: [RegistrationKey], from key: NotificationKey, named name: DeviceGroupName?
    ) throws -> DeviceGroupResult {
        guard let group = try find(key) else { return .notFound }
        guard name == nil || name == group.name else { return .otherName }
        for member in members { try db.change(Self.removeMember, [group.id, member.rawValue]) }
        try db.change(Self.removeEmpty, [group.id])
        return .done(key)
    }

    private func active(_ keys: [RegistrationKey]) throws -> Set<Int64> {
        Set(try keys.compactMap { try db.number(Self.active, [$0.rawValue, project.rawValue]) })
    }

    private func insert(_ members: Set<Int64>, into group: Int64) throws {
        for member in members { try db.change(Self.insertMember, [group, member]) }
    }
}
