import HTTPTypes

extension OpenAPI {
    /// The ledger as files.
    static let export = Area(
        name: "Export",
        operations: [
            Operation(
                method: .get, path: "/v1/projects/{project}/export", id: "exportLedger",
                summary: "Exports the deliveries of a time, all of them or a page.",
                parameters: [
                    .query("format", .choice(["ndjson", "csv", "schema"]), "ndjson when absent."),
                    .query("startTime", .time, "From then on; absent: from the oldest row that is kept."),
                    .query("endTime", .time, "Until before then."),
                    .query(
                        "pageSize", .integer.with("minimum", .integer(0)),
                        "How many rows, up to 10,000; 0 and absent mean all in one stream."),
                    .query("pageToken", .string, "`X-Next-Page-Token` of the page before."),
                    .query("cursor", .string, "The same, by its former name."),
                ],
                answers: [
                    200: Answer(
                        summary: "The rows.",
                        content: Content(types: [
                            ("application/x-ndjson", .string), ("text/csv", .string),
                            ("application/json", .named("ExportSchema")),
                        ]),
                        fields: [(.nextPageToken, .string, "Where the next page begins; absent at the end.")])
                ], errors: [410]),
            .project(
                .get, "export/schema", "getExportSchema", "The columns of an export, as `bq load --schema` takes them.",
                answer: .named("ExportSchema")),
        ],
        schemas: [
            "ExportSchema": .list(
                of: .object(
                    ["name": .string, "type": .string, "mode": .string, "description": .string],
                    required: ["name", "type"]))
        ])
}
