import PushModel
import Store
import TestSupport
import Testing

private let home = DeviceGroupName(rawValue: "home")!

extension Scene {
    /// Registers devices `numbers`.
    fileprivate func devices(_ numbers: ClosedRange<Int>) async throws -> [Registration] {
        var devices: [Registration] = []
        for number in numbers { devices.append(try await register(number)) }
        return devices
    }

    /// Makes the group `home`.
    fileprivate func group(of devices: [Registration]) async throws -> NotificationKey {
        let result = try await store.createGroup(
            home, of: devices.map(\.key), in: project, at: Timestamp(milliseconds: 1))
        guard case .done(let key) = result else {
            Issue.record("\(result)")
            throw StoreError(.failed, "no group")
        }
        return key
    }

    fileprivate func members(of key: NotificationKey) async throws -> [RegistrationKey]? {
        try await store.members(of: key, in: project)?.map(\.key)
    }
}

extension ConformanceCase {
    static let deviceGroups: [ConformanceCase] = [
        ConformanceCase("a device group is found by name and by key, in its project only") { scene in
            let devices = try await scene.devices(1...3)
            let key = try await scene.group(of: [devices[2], devices[0], devices[2]])
            #expect(try await scene.members(of: key) == [devices[0].key, devices[2].key])
            #expect(try await scene.store.notificationKey(of: home, in: scene.project) == key)
            let other = ProjectID(rawValue: "other")!
            #expect(try await scene.store.members(of: key, in: other) == nil)
            #expect(try await scene.store.notificationKey(of: home, in: other) == nil)
            let unknown = DeviceGroupName(rawValue: "Home")!
            #expect(try await scene.store.notificationKey(of: unknown, in: scene.project) == nil)
        },
        ConformanceCase("a group's name is taken until the group is deleted") { scene in
            let devices = try await scene.devices(1...2)
            let key = try await scene.group(of: devices)
            let again = try await scene.store.createGroup(
                home, of: devices.map(\.key), in: scene.project, at: Timestamp(milliseconds: 2))
            #expect(again == .nameTaken)
            let keys = devices.map(\.key)
            #expect(try await scene.store.remove([keys[0]], from: key, named: home, in: scene.project) == .done(key))
            #expect(try await scene.members(of: key) == [keys[1]])
            #expect(try await scene.store.remove(keys, from: key, named: nil, in: scene.project) == .done(key))
            #expect(try await scene.members(of: key) == nil)
            #expect(try await scene.store.remove(keys, from: key, named: nil, in: scene.project) == .notFound)
            #expect(try await scene.store.add(keys, to: key, named: nil, in: scene.project) == .notFound)
            #expect(try await scene.group(of: devices) != key)
        },
        ConformanceCase("only active registrations of the project become members") { scene in
            let devices = try await scene.devices(1...2)
            try await scene.store.end(
                devices[0].key, RegistrationEnd(time: Timestamp(milliseconds: 1), cause: .deleted))
            var request = scene.request(5)
            request.project = ProjectID(rawValue: "other")!
            let stranger = try await scene.store.register(request, at: Timestamp(milliseconds: 1)).registration
            let inactive = [devices[0].key, stranger.key, RegistrationKey(rawValue: 999)]
            let none = try await scene.store.createGroup(
                home, of: inactive, in: scene.project, at: Timestamp(milliseconds: 2))
            #expect(none == .noneActive)
            #expect(try await scene.store.notificationKey(of: home, in: scene.project) == nil)
            let key = try await scene.group(of: devices + [stranger])
            #expect(try await scene.members(of: key) == [devices[1].key])
            #expect(try await scene.store.add(inactive, to: key, named: nil, in: scene.project) == .noneActive)
        },
        ConformanceCase("a change under another name changes nothing") { scene in
            let devices = try await scene.devices(1...2)
            let key = try await scene.group(of: [devices[0]])
            let wrong = DeviceGroupName(rawValue: "work")!
            let keys = devices.map(\.key)
            #expect(try await scene.store.add(keys, to: key, named: wrong, in: scene.project) == .otherName)
            #expect(try await scene.store.remove(keys, from: key, named: wrong, in: scene.project) == .otherName)
            #expect(try await scene.members(of: key) == [devices[0].key])
            #expect(try await scene.store.add(keys, to: key, named: home, in: scene.project) == .done(key))
            #expect(try await scene.members(of: key) == keys)
        },
        ConformanceCase("a group has at most twenty members, and what would make it larger changes nothing") { scene in
            let devices = try await scene.devices(1...21)
            let all = devices.map(\.key)
            let over = try await scene.store.createGroup(
                home, of: all, in: scene.project, at: Timestamp(milliseconds: 1))
            #expect(over == .tooMany)
            let key = try await scene.group(of: Array(devices[..<19]))
            #expect(try await scene.store.add(Array(all[19...]), to: key, named: nil, in: scene.project) == .tooMany)
            #expect(try await scene.members(of: key)?.count == 19)
            // Who is in it already takes no place.
            let last = try await scene.store.add(Array(all[..<20]), to: key, named: nil, in: scene.project)
            #expect(last == .done(key))
            #expect(try await scene.members(of: key) == Array(all[..<20]))
        },
        ConformanceCase("a member that ends falls out, and the group and its key stay") { scene in
            let devices = try await scene.devices(1...3)
            let key = try await scene.group(of: devices)
            try await scene.store.end(
                devices[0].key, RegistrationEnd(time: Timestamp(milliseconds: 5), cause: .deleted))
            // Its device token goes to another registration.
            _ = try await scene.store.change(
                devices[1].key, RegistrationChange(address: .deviceToken(devices[2].deviceToken)),
                at: Timestamp(milliseconds: 6))
            #expect(try await scene.members(of: key) == [devices[1].key])
            // APNs calls the last one dead.
            _ = try await scene.send(to: devices[1])
            let claimed = try await scene.claimDue(.interactive)
            try await scene.settle(
                claimed.map {
                    $0.ended(
                        .rejected, reason: "Unregistered", verdict: .dead(since: Timestamp(milliseconds: 2500)))
                })
            #expect(try await scene.members(of: key) == [])
            let next = try await scene.register(9)
            #expect(try await scene.store.add([next.key], to: key, named: home, in: scene.project) == .done(key))
            #expect(try await scene.members(of: key) == [next.key])
        },
        ConformanceCase("registrations of a group are purged when they ended") { scene in
            let devices = try await scene.devices(1...2)
            let key = try await scene.group(of: devices)
            try await scene.store.end(
                devices[0].key, RegistrationEnd(time: Timestamp(milliseconds: 5), cause: .deleted))
            #expect(try await scene.store.purge(endedBefore: Timestamp(milliseconds: 9), limit: 9) == 1)
            #expect(try await scene.members(of: key) == [devices[1].key])
        },
    ]
}
