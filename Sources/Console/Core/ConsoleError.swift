import HTTPTypes

/// What a page can't do, in words for the operator.
struct ConsoleError: Error, Sendable {
    /// The status.
    var status: HTTPResponse.Status
    /// A short sentence.
    var title: String
    /// What to do.
    var text: String
    /// The fields of a form that are wrong, by name, with what is wrong.
    var fields: [String: String] = [:]

    /// Puts an error together.
    init(_ status: HTTPResponse.Status, _ title: String, _ text: String, fields: [String: String] = [:]) {
        self.status = status
        self.title = title
        self.text = text
        self.fields = fields
    }

    /// There is nothing at this address, or nothing that the operator may see.
    static let notFound = ConsoleError(
        .notFound, "Nothing here", "Check the address, or begin at the overview.")

    /// The role does not suffice.
    static func forbidden(_ needed: String, _ role: String) -> ConsoleError {
        ConsoleError(
            .forbidden, "Your role does not allow this",
            "This needs the role \(needed); yours is \(role). An admin of the project can give you another.")
    }

    /// The form is not of this session.
    static let staleForm = ConsoleError(
        .forbidden, "This form is out of date",
        "It belongs to another session, or was sent from another page. Go back, reload the page and send it again.")
}
