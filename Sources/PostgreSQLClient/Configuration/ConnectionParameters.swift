import CPostgreSQL
import Glibc

/// The parameters of a connection by their names in libpq.
struct ConnectionParameters: Sendable {
    private var values: [String: String] = [:]

    /// Has libpq read a URL.
    ///
    /// - Throws: ``PostgreSQLError`` `.configuration`. libpq's text may quote a part of the URL, in which the password may
    ///   stand: it is left out.
    init(url: String) throws(PostgreSQLError) {
        var message: UnsafeMutablePointer<CChar>?
        let options = unsafe PQconninfoParse(url, &message)
        defer {
            unsafe PQfreemem(message)
            unsafe PQconninfoFree(options)
        }
        guard var option = unsafe options else {
            throw PostgreSQLError(
                .configuration, "The URL of the database is not valid; see the libpq documentation on connection URIs.")
        }
        while let keyword = unsafe option.pointee.keyword {
            if let value = unsafe option.pointee.val {
                unsafe values[String(cString: keyword)] = unsafe String(cString: value)
            }
            unsafe option += 1
        }
    }

    /// A parameter; `nil`: it was not given.
    subscript(name: String) -> String? {
        get { values[name] }
        set { values[name] = newValue }
    }

    /// Sets a parameter that was not given.
    mutating func fill(_ name: String, _ value: String) {
        if values[name] == nil { values[name] = value }
    }

    /// Begins to connect.
    ///
    /// - Returns: libpq's connection, which the caller has to free; `nil`: there is no memory.
    func start() -> OpaquePointer? {
        let names = values.keys.sorted()
        var keywords = unsafe names.map { unsafe UnsafePointer(strdup($0)) as UnsafePointer<CChar>? } + [nil]
        var texts = unsafe names.map { unsafe UnsafePointer(strdup(values[$0] ?? "")) as UnsafePointer<CChar>? } + [nil]
        defer {
            unsafe (keywords + texts).forEach { unsafe free(UnsafeMutablePointer(mutating: $0)) }
        }
        return unsafe PQconnectStartParams(&keywords, &texts, 0)
    }
}
