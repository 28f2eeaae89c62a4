import HTTPTypes

extension OpenAPI {
    /// Many requests in one, as Google's APIs take them.
    static let batches = Area(
        name: "Batches", operations: [batch("/batch", "batch"), batch("/v1", "batchAtV1")], schemas: [:])

    private static func batch(_ path: String, _ id: String) -> Operation {
        let multipart = Content(types: [("multipart/mixed", .string)])
        return Operation(
            method: .post, path: path, id: id, summary: "Answers up to 500 requests, in order.", body: multipart,
            answers: [200: Answer(summary: "An answer for each part.", content: multipart)], errors: [429])
    }
}
