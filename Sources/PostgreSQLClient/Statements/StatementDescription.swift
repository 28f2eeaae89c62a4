/// A statement that the server has parsed for one connection.
struct StatementDescription {
    let name: String
    let parameters: [TypeID]
    let columns: [TypeID]
}
