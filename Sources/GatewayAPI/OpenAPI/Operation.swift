import HTTPTypes

extension OpenAPI {
    /// What the document says of one route. What follows from the route itself is not repeated here: captures, roles, and
    /// the errors that come with keys and bodies.
    struct Operation: Sendable {
        /// The route's method.
        let method: HTTPRequest.Method
        /// The route's path.
        let path: String
        /// `operationId`: what generators name functions by.
        let id: String
        /// One sentence: what it does.
        let summary: String
        /// What the query and the header may hold.
        var parameters: [Parameter] = []
        /// What the request carries.
        var body: Content?
        /// What is answered, by status.
        var answers: [Int: Answer] = [:]
        /// Statuses of errors beside those that follow from the route.
        var errors: Set<Int> = []
        /// What errors look like.
        var errorBody = Content.json(.named("Error"))

        /// The operation of a route below `/v1/projects/{project}`.
        static func project(
            _ method: HTTPRequest.Method, _ path: String, _ id: String, _ summary: String,
            parameters: [Parameter] = [], body: Content? = nil, answer: Schema, errors: Set<Int> = []
        ) -> Operation {
            Operation(
                method: method, path: "/v1/projects/{project}/" + path, id: id, summary: summary,
                parameters: parameters, body: body, answers: [200: .json(answer)], errors: errors)
        }
    }

    /// A parameter of the query or the header.
    struct Parameter: Sendable {
        let name: String
        let place: Place
        let schema: Schema
        let summary: String
        var isRequired = false

        /// Where it stands.
        enum Place: String, Sendable {
            case query
            case header
        }

        /// A parameter of the query.
        static func query(
            _ name: String, _ schema: Schema, _ summary: String, isRequired: Bool = false
        ) -> Parameter {
            Parameter(name: name, place: .query, schema: schema, summary: summary, isRequired: isRequired)
        }

        /// A field of the header.
        static func header(_ name: HTTPField.Name, _ schema: Schema, _ summary: String) -> Parameter {
            Parameter(name: name.rawName, place: .header, schema: schema, summary: summary)
        }

        /// `pageSize` and `pageToken` of a list.
        static func page(limit: Int, default fallback: Int) -> [Parameter] {
            [
                .query(
                    "pageSize", .integer.with("minimum", .integer(0)),
                    "How many at most; 0 and absent mean \(fallback), more than \(limit) means \(limit)."),
                .query("pageToken", .string, "`nextPageToken` of the page before."),
            ]
        }
    }

    /// A body: what it may be by its media type.
    struct Content: Sendable {
        let types: [(type: String, schema: Schema)]
        var isRequired = true

        /// A body in JSON.
        static func json(_ schema: Schema, isRequired: Bool = true) -> Content {
            Content(types: [("application/json", schema)], isRequired: isRequired)
        }
    }

    /// An answer.
    struct Answer: Sendable {
        let summary: String
        let content: Content
        /// Fields of the header that the answer may have.
        var fields: [(name: HTTPField.Name, schema: Schema, summary: String)] = []

        /// An answer in JSON.
        static func json(_ schema: Schema, _ summary: String = "Done.") -> Answer {
            Answer(summary: summary, content: .json(schema))
        }

        /// An answer in text of some type.
        static func text(_ type: String, _ summary: String) -> Answer {
            Answer(summary: summary, content: Content(types: [(type, .string)]))
        }
    }

    /// The operations of a part of the API with the schemas that they name.
    struct Area: Sendable {
        /// The tag of the operations.
        let name: String
        let operations: [Operation]
        let schemas: Schemas
    }
    /// Schemas of the document's components by their names, in order.
    struct Schemas: ExpressibleByDictionaryLiteral, Sendable {
        /// The schemas.
        let list: [(name: String, schema: Schema)]

        /// Lists schemas.
        init(_ list: [(name: String, schema: Schema)]) {
            self.list = list
        }

        init(dictionaryLiteral elements: (String, Schema)...) {
            list = elements.map { (name: $0.0, schema: $0.1) }
        }
    }
}
