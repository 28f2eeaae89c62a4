extension OpenAPI {
    /// What errors look like.
    static let errors = Area(
        name: "Errors", operations: [],
        schemas: [
            "Error": .object(["error": .named("Status")], required: ["error"]),
            "Status": .object(
                [
                    "code": .integer.saying("The HTTP status."), "message": .string,
                    "status": .string.saying("The name in google.rpc.Code."),
                    "details": .list(of: .object(["@type": .string], required: ["@type"])),
                ],
                required: ["code", "message", "status"]
            ).saying("google.rpc.Status, as FCM answers it."),
        ])
}
