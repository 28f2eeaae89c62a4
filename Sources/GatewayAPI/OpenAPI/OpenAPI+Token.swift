import HTTPTypes

extension OpenAPI {
    /// Access tokens of service accounts.
    static let tokens = Area(
        name: "Tokens",
        operations: [
            Operation(
                method: .post, path: "/token", id: "exchangeAssertion",
                summary: "Gives an access token for a service account's signed assertion (RFC 7523).",
                body: Content(types: [
                    (
                        "application/x-www-form-urlencoded",
                        .object(
                            [
                                "grant_type": .choice(["urn:ietf:params:oauth:grant-type:jwt-bearer"]),
                                "assertion": .string,
                            ],
                            required: ["grant_type", "assertion"])
                    )
                ]),
                answers: [200: .json(.named("AccessToken"))], errors: [503], errorBody: .json(.named("TokenError")))
        ],
        schemas: [
            "AccessToken": .object(
                [
                    "access_token": .string, "expires_in": .integer.saying("Seconds."),
                    "token_type": .choice(["Bearer"]),
                ],
                required: ["access_token", "expires_in", "token_type"]),
            "TokenError": .object(["error": .string, "error_description": .string], required: ["error"]),
        ])
}
