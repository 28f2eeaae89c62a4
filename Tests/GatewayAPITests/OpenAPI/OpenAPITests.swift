import Foundation
import HTTPTypes
import JSON
import PushModel
import Testing

@testable import GatewayAPI

/// The document at `/openapi.json` against the routes, itself, and FCM's own schema.
struct OpenAPITests {
    private let document = OpenAPIDocument(routes: RouteTable.described, areas: OpenAPI.areas).json

    private var operations: [OpenAPI.Operation] { OpenAPI.areas.flatMap(\.operations) }

    private func members(_ value: JSONValue?) -> [JSONValue.Member] {
        guard case .object(let members)? = value else { return [] }
        return members
    }

    @Test func everyRouteHasAnOperationAndEveryOperationARoute() {
        let routes = Set(RouteTable.described.map { "\($0.method) \($0.path)" })
        let documented = Set(operations.map { "\($0.method) \($0.path)" })
        let missing = routes.subtracting(documented).sorted()
        let idle = documented.subtracting(routes).sorted()
        #expect(missing.isEmpty, "add an OpenAPI.Operation for: \(missing.joined(separator: ", "))")
        #expect(idle.isEmpty, "there is no route for: \(idle.joined(separator: ", "))")
        #expect(Set(operations.map(\.id)).count == operations.count, "an operationId stands twice")
    }

    @Test func theDocumentListsThemAll() {
        let listed = members(document["paths"]).flatMap { path in
            members(path.value).map { "\($0.name.uppercased()) \(path.name)" }
        }
        #expect(Set(listed) == Set(RouteTable.described.map { "\($0.method) \($0.path)" }))
        #expect(listed.count == RouteTable.described.count)
    }

    @Test func everyCaptureIsExplained() {
        for route in RouteTable.described {
            for match in route.path.matches(of: /\{([a-zA-Z]+)\}/) {
                let name = String(match.1)
                #expect(RouteDescription.captureTexts[name] != nil, "\(name) in \(route.path)")
            }
        }
    }

    @Test func everyErrorStatusIsExplained() {
        let statuses = operations.flatMap(\.errors)
        for status in Set(statuses) { #expect(RouteDescription.errorTexts[status] != nil, "\(status)") }
    }

    @Test func schemasThatAreNamedAreThereAndAllAreUsed() throws {
        let schemas = Set(members(document["components"]?["schemas"]).map(\.name))
        let text = String(decoding: document.bytes, as: UTF8.self)
        // A slash may stand escaped in JSON.
        let names = text.replacing("\\/", with: "/").matches(of: /#\/components\/schemas\/([A-Za-z0-9]+)"/)
        let used = Set(names.map { String($0.1) })
        #expect(used.subtracting(schemas) == [])
        #expect(schemas.subtracting(used) == [])
    }

    @Test func keysAndTheirErrorsFollowFromTheRoute() throws {
        let send = try #require(document["paths"]?["/v1/projects/{project}/messages:send"]?["post"])
        #expect(
            members(send["responses"]).map(\.name) == [
                "200", "400", "401", "403", "404", "408", "409", "413", "415", "429", "431", "500", "503",
            ])
        #expect(send["security"] != .array([]))
        #expect(send["description"] == .string("For the role admin or sender."))
        let health = try #require(document["paths"]?["/healthz"]?["get"])
        #expect(members(health["responses"]).map(\.name) == ["200", "400", "431", "500"])
        #expect(health["security"] == .array([]))
    }

    @Test func anyoneMayReadIt() async throws {
        let gateway = try await TestGateway()
        let answer = try await gateway.request(.get, "/openapi.json", as: nil)
        #expect(answer.status == 200)
        #expect(answer.headers[.contentType] == "application/json; charset=UTF-8")
        #expect(try answer.json == document)
    }

    /// FCM's discovery document: a field that one of the two lacks, or has with another type, is named.
    @Test func messagesHaveFCMsFields() throws {
        let discovery = try JSONValue(
            parsing: Array(try Checkout.text("Tests/FCMWireTests/Resources/fcm.v1.json").utf8))
        // The two requests for light settings are one schema here.
        let aliases = ["GoogleFirebaseFcmV1AndroidNotificationV2LightSettings": "LightSettings"]
        var pending = ["Message"]
        var seen: Set<String> = []
        while let name = pending.popLast() {
            guard seen.insert(name).inserted else { continue }
            let ours = document["components"]?["schemas"]?[aliases[name] ?? name]
            let theirs = members(discovery["schemas"]?[name]?["properties"])
            #expect(Set(members(ours?["properties"]).map(\.name)) == Set(theirs.map(\.name)), "\(name)")
            for field in theirs {
                let mine = ours?["properties"]?[field.name]
                if let reference = field.value["$ref"]?.stringValue {
                    pending.append(reference)
                    let expected = "#/components/schemas/\(aliases[reference] ?? reference)"
                    #expect(mine?["$ref"]?.stringValue == expected, "\(name).\(field.name)")
                } else {
                    #expect(mine?["type"] == field.value["type"], "\(name).\(field.name)")
                    #expect(mine?["enum"] == field.value["enum"], "\(name).\(field.name)")
                    #expect(mine?["items"]?["type"] == field.value["items"]?["type"], "\(name).\(field.name)")
                }
            }
        }
        #expect(seen.count > 15)
    }
}

/// The schemas of links against Dynamic Links' discovery document.
struct LinkSchemaTests {
    private let document = OpenAPIDocument(routes: RouteTable.described, areas: OpenAPI.areas).json

    private func members(_ value: JSONValue?) -> [JSONValue.Member] {
        guard case .object(let members)? = value else { return [] }
        return members
    }

    /// The texts of a list, in no order.
    private func texts(_ value: JSONValue?) -> Set<String> {
        guard case .array(let elements)? = value else { return [] }
        return Set(elements.compactMap(\.stringValue))
    }

    /// What ours have beside.
    private static let added: [String: Set<String>] = [
        "CreateManagedShortLinkRequest": ["expirationTime"], "ManagedShortLink": ["expirationTime"],
        "IosInfo": ["iosProductPageId"],
    ]

    @Test("links have the fields of Dynamic Links, with their types")
    func fields() throws {
        let discovery = try JSONValue(
            parsing: Array(
                try Checkout.text("Tests/GatewayAPITests/Resources/firebasedynamiclinks.v1.json").utf8))
        var pending = [
            "CreateShortDynamicLinkRequest", "CreateShortDynamicLinkResponse", "CreateManagedShortLinkRequest",
            "CreateManagedShortLinkResponse", "DynamicLinkStats",
        ]
        var seen: Set<String> = []
        while let name = pending.popLast() {
            guard seen.insert(name).inserted else { continue }
            let ours = document["components"]?["schemas"]?[name]?["properties"]
            let theirs = members(discovery["schemas"]?[name]?["properties"])
            let names = Set(members(ours).map(\.name)).subtracting(Self.added[name] ?? [])
            #expect(names == Set(theirs.map(\.name)), "\(name)")
            for field in theirs {
                let mine = ours?[field.name]
                for (reference, own) in [
                    (field.value["$ref"], mine?["$ref"]), (field.value["items"]?["$ref"], mine?["items"]?["$ref"]),
                ] {
                    guard let target = reference?.stringValue else { continue }
                    pending.append(target)
                    #expect(own?.stringValue == "#/components/schemas/\(target)", "\(name).\(field.name)")
                }
                #expect(field.value["$ref"] != nil || mine?["type"] == field.value["type"], "\(name).\(field.name)")
                // Ours says UNSPECIFIED_VISIBILITY of no link.
                #expect(
                    field.name == "visibility" || texts(mine?["enum"]) == texts(field.value["enum"]),
                    "\(name).\(field.name)")
                #expect(mine?["items"]?["enum"] == field.value["items"]?["enum"], "\(name).\(field.name)")
            }
        }
        #expect(seen.count > 15)
    }

    @Test("attribution has the fields of Dynamic Links but for those that nothing reads")
    func attribution() throws {
        let discovery = try JSONValue(
            parsing: Array(
                try Checkout.text("Tests/GatewayAPITests/Resources/firebasedynamiclinks.v1.json").utf8))
        for (name, theirs, added, unread) in [
            (
                "InstallAttributionRequest", "GetIosPostInstallAttributionRequest",
                ["androidVersion", "installReferrer", "installId"], ["retrievalMethod", "visualStyle"]
            ),
            (
                "InstallAttribution", "GetIosPostInstallAttributionResponse", ["referralId"],
                ["isStrongMatchExecutable"]
            ),
            ("ReopenAttribution", "GetIosReopenAttributionResponse", [], ["warning"]),
        ] as [(String, String, Set<String>, Set<String>)] {
            let ours = document["components"]?["schemas"]?[name]?["properties"]
            let fields = members(discovery["schemas"]?[theirs]?["properties"])
            #expect(!fields.isEmpty)
            #expect(
                Set(members(ours).map(\.name)).subtracting(added) == Set(fields.map(\.name)).subtracting(unread),
                "\(name)")
            for field in fields where field.value["enum"] != nil && !unread.contains(field.name) {
                let words = texts(ours?[field.name]?["enum"])
                #expect(!words.isEmpty && words.isSubset(of: texts(field.value["enum"])), "\(field.name)")
            }
        }
        let device = document["components"]?["schemas"]?["InstallAttributionRequest"]?["properties"]?["device"]
        #expect(
            Set(members(device?["properties"]).map(\.name))
                == Set(members(discovery["schemas"]?["DeviceInfo"]?["properties"]).map(\.name)))
    }

    @Test("the methods of Dynamic Links have their paths")
    func paths() throws {
        let discovery = try Checkout.text("Tests/GatewayAPITests/Resources/firebasedynamiclinks.v1.json")
        for path in ["v1/shortLinks", "v1/managedShortLinks:create", "v1/{dynamicLink}/linkStats"] {
            #expect(discovery.contains(#""flatPath": "\#(path)""#))
            #expect(document["paths"]?["/" + path.replacing("dynamicLink", with: "link")] != nil, "\(path)")
        }
    }
}
