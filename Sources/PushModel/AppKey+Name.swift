extension AppKey {
    /// What names it where nothing else says the platform: its id, or `platform:id` where one of `apps` has the same id on
    /// another platform.
    package func name(among apps: some Sequence<AppKey>) -> String {
        apps.contains { $0.id == id && $0.platform != platform } ? "\(platform.rawValue):\(id)" : id.rawValue
    }
}

extension Project {
    /// The apps that a text names, in the order of the platforms' names: by an id those of every platform, by `platform:id`
    /// one at most.
    package func apps(named text: String) -> [App] {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 2 else { return AppID(rawValue: text).map { apps($0) } ?? [] }
        guard let platform = Platform(rawValue: parts[0]), let id = AppID(rawValue: parts[1]),
            let app = apps[AppKey(platform, id)]
        else { return [] }
        return [app]
    }
}
