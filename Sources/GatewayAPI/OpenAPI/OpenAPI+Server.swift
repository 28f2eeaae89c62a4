import HTTPTypes

extension OpenAPI {
    /// What load balancers, supervisors and Prometheus ask for.
    static let serverOperations = Area(
        name: "Server",
        operations: [
            open(
                "/healthz", "getHealth", "Whether the process answers.",
                [200: .json(.object(["status": .string], required: ["status"]))]),
            open(
                "/readyz", "getReadiness",
                "Whether the gateway takes messages; on the listener for operations also how its parts are.",
                [
                    200: .json(.named("Readiness"), "Ready."),
                    503: Answer(
                        summary: "Not ready; problems say why.", content: .json(.named("Readiness")),
                        fields: [(.retryAfter, .integer, "Seconds to wait.")]),
                ]),
            open("/metrics", "getMetrics", "Metrics for Prometheus.", [200: .text("text/plain", "The metrics.")]),
            open(
                "/openapi.json", "getDescription", "This document.",
                [200: .json(.object(["openapi": .string], required: ["openapi"]))]),
        ],
        schemas: [
            "Readiness": .object(
                [
                    "status": .choice(["ready", "unready"]), "problems": .list(of: .string),
                    "store": .object(["writable": .boolean]), "upstreams": .list(of: .object(["name": .string])),
                ],
                required: ["status"])
        ])

    private static func open(
        _ path: String, _ id: String, _ summary: String, _ answers: [Int: Answer]
    ) -> Operation {
        Operation(method: .get, path: path, id: id, summary: summary, answers: answers)
    }
}
