package import PushModel
package import Store

/// Which keys the browsers of an app subscribed with.
extension SQLStore {
    /// A browser's keys stand in front of the application's, see ``Address/detail``.
    private static let applicationKeys = """
        SELECT substr(address_detail, 82), count(*) FROM registration INDEXED BY registration_by_app
        WHERE app = ? AND ended_at IS NULL AND channel < 4 GROUP BY 1
        """

    /// How many active registrations of a web app subscribed with each application key, by its point; an empty one: the page
    /// did not say. Reads all of them.
    package func applicationKeys(
        of app: AppID, in project: ProjectID
    ) async throws(StoreError) -> [[UInt8]: Int] {
        try await read { db in
            guard let number = try AppTable(db: db).find(project, AppKey(.web, app)) else { return [:] }
            let rows = try db.rows(Self.applicationKeys, [number])
            return Dictionary(
                rows.map { (($0[0] as [UInt8]?) ?? [], $0[1]) }, uniquingKeysWith: +)
        }
    }
}
