// swift-tools-version: 6.2
import PackageDescription

// HERALD_ONLY=HTTP2Client,Signing builds just these modules, what they depend on and their tests:
// sanitizer runs use it to leave the HTTP server stack out.
let only: [String] =
    Context.environment["HERALD_ONLY"].map { $0.split(separator: ",").map(String.init) } ?? []

// HERALD_SANITIZE=thread or address goes with `swift build --sanitize=…`: locks and memory pools become ones that the
// sanitizer understands.
let sanitizer: [SwiftSetting] =
    Context.environment["HERALD_SANITIZE"].map { [.define("HERALD_\($0.uppercased())_SANITIZER")] } ?? []

// HERALD_TRAITS=PostgreSQL adds the trait of that name to the default ones, and with it the targets that need libpq-dev:
// a target can't depend on a trait, and without it neither library nor header is asked for.
let traits: [String] = Context.environment["HERALD_TRAITS"].map { $0.split(separator: ",").map(String.init) } ?? []
let hasPostgreSQL = traits.contains("PostgreSQL")

let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .strictMemorySafety(),
]

// A call stays on its caller's executor. Otherwise each one asks, before and after, whether it has to change to another.
let callers: [SwiftSetting] = [.enableUpcomingFeature("NonisolatedNonsendingByDefault")]

// HERALD_WARNINGS=errors, as .ci/run has it: a warning of another compiler must not keep anyone from building.
let warnings: [SwiftSetting] =
    Context.environment["HERALD_WARNINGS"] == "errors" ? [.treatAllWarnings(as: .error)] : []

let argumentParser = Target.Dependency.product(name: "ArgumentParser", package: "swift-argument-parser")
let asyncHTTPClient = Target.Dependency.product(name: "AsyncHTTPClient", package: "async-http-client")
let certificates = Target.Dependency.product(name: "X509", package: "swift-certificates")
let configuration = Target.Dependency.product(name: "Configuration", package: "swift-configuration")
let crypto = Target.Dependency.product(name: "Crypto", package: "swift-crypto")
let cryptoExtras = Target.Dependency.product(name: "CryptoExtras", package: "swift-crypto")
let deque = Target.Dependency.product(name: "DequeModule", package: "swift-collections")
let sqlite = Target.Dependency.product(name: "GRDBSQLite", package: "GRDB.swift")
let grdb = Target.Dependency.product(name: "GRDB", package: "GRDB.swift")
let http2 = Target.Dependency.product(name: "NIOHTTP2", package: "swift-nio-http2")
let hummingbird = Target.Dependency.product(name: "Hummingbird", package: "hummingbird")
let hummingbirdCore = Target.Dependency.product(name: "HummingbirdCore", package: "hummingbird")
let hummingbirdHTTP2 = Target.Dependency.product(name: "HummingbirdHTTP2", package: "hummingbird")
let hummingbirdTLS = Target.Dependency.product(name: "HummingbirdTLS", package: "hummingbird")
let hummingbirdTesting = Target.Dependency.product(name: "HummingbirdTesting", package: "hummingbird")
let jwt = Target.Dependency.product(name: "JWTKit", package: "jwt-kit")
let lifecycle = Target.Dependency.product(name: "ServiceLifecycle", package: "swift-service-lifecycle")
let tracing = Target.Dependency.product(name: "Tracing", package: "swift-distributed-tracing")
let inMemoryTracing = Target.Dependency.product(name: "InMemoryTracing", package: "swift-distributed-tracing")
let unixSignals = Target.Dependency.product(name: "UnixSignals", package: "swift-service-lifecycle")
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let metrics = Target.Dependency.product(name: "Metrics", package: "swift-metrics")
let mustache = Target.Dependency.product(name: "Mustache", package: "swift-mustache")
let coreMetrics = Target.Dependency.product(name: "CoreMetrics", package: "swift-metrics")
let nioCore = Target.Dependency.product(name: "NIOCore", package: "swift-nio")
let nioPosix = Target.Dependency.product(name: "NIOPosix", package: "swift-nio")
let nioHTTP1 = Target.Dependency.product(name: "NIOHTTP1", package: "swift-nio")
let nioEmbedded = Target.Dependency.product(name: "NIOEmbedded", package: "swift-nio")
let nioCompression = Target.Dependency.product(name: "NIOHTTPCompression", package: "swift-nio-extras")
let nioHTTPTypesHTTP2 = Target.Dependency.product(name: "NIOHTTPTypesHTTP2", package: "swift-nio-extras")
let nioTLS = Target.Dependency.product(name: "NIOTLS", package: "swift-nio")
let nioSSL = Target.Dependency.product(name: "NIOSSL", package: "swift-nio-ssl")
let yams = Target.Dependency.product(name: "Yams", package: "Yams")

let libraries: [Target] = [
    .systemLibrary(name: "CNghttp2", providers: [.apt(["libnghttp2-dev"])]),
    .systemLibrary(name: "COpenSSL", providers: [.apt(["libssl-dev"])]),
    .systemLibrary(name: "CLinux"),
    .target(name: "JSON"),
    .target(name: "Signing", dependencies: ["COpenSSL", "JSON"]),
    .target(name: "PushModel"),
    .target(name: "FCMWire", dependencies: ["PushModel", "JSON"]),
    .target(name: "IPAddresses"),
    .target(name: "HTTP2Client", dependencies: ["CNghttp2", "COpenSSL", "CLinux", "IPAddresses", deque, logging]),
    .target(name: "Upstream", dependencies: ["HTTP2Client", "IPAddresses", "PushModel", deque, logging]),
    .target(name: "APNS", dependencies: ["Upstream", "Signing", "FCMWire", "PushModel", "JSON", logging]),
    .target(
        name: "WebPush",
        dependencies: [
            "Upstream", "Signing", "FCMWire", "PushModel", "JSON", asyncHTTPClient, logging, nioCore, nioHTTP1,
            nioPosix,
            nioSSL,
        ]),
    .target(name: "FCMRelay", dependencies: ["Upstream", "Signing", "FCMWire", "PushModel", "JSON", logging]),
    .target(name: "Store", dependencies: ["PushModel", "JSON"]),
    .target(name: "SQLStorage", dependencies: ["Store", "PushModel", "JSON", coreMetrics, logging]),
    .target(
        name: "SQLiteStorage",
        dependencies: ["SQLStorage", "Store", "PushModel", "JSON", coreMetrics, grdb, sqlite, logging]),
    .target(name: "Traces", dependencies: ["PushModel", tracing]),
    .target(name: "Delivery", dependencies: ["Traces", "Store", "PushModel", lifecycle, logging, metrics, tracing]),
    .target(
        name: "HTTPListener",
        dependencies: [
            "PushModel", hummingbird, hummingbirdCore, nioCore, nioHTTP1, nioSSL,
            nioTLS, nioHTTPTypesHTTP2, http2, deque, coreMetrics, lifecycle, logging, metrics,
        ]),
    .target(
        name: "Links",
        dependencies: [
            "HTTPListener", "Store", "PushModel", "JSON", crypto, hummingbird, hummingbirdCore, lifecycle, logging,
            metrics,
            mustache, nioCore,
        ]),
    .target(
        name: "Webhooks",
        dependencies: [
            "Delivery", "Traces", "Store", "IPAddresses", "PushModel", "JSON", asyncHTTPClient, coreMetrics, crypto,
            lifecycle, logging, metrics, nioCore, nioHTTP1, nioPosix, nioSSL, tracing,
        ]),
    .target(name: "HeraldLinks"),
    .target(name: "HeraldMessaging"),
    .target(
        name: "GatewayAPI",
        dependencies: [
            "Webhooks", "Links", "HTTPListener", "Delivery", "Traces", "Store", "FCMWire", "PushModel", "JSON",
            hummingbird, hummingbirdCore, nioCore, tracing, nioEmbedded, nioHTTP1, nioCompression, crypto, cryptoExtras,
            deque, jwt, coreMetrics, lifecycle, logging,
            metrics,
        ]),
    .target(
        name: "Simulators",
        dependencies: [
            "PushModel", "JSON", nioCore, nioPosix, nioHTTP1, nioSSL, nioTLS, http2, crypto, cryptoExtras, certificates,
            lifecycle, logging,
        ]),
    .target(
        name: "Console",
        dependencies: [
            "Links", "HTTPListener", "Delivery", "Store", "FCMWire", "PushModel", "JSON", asyncHTTPClient, crypto,
            cryptoExtras, hummingbird, hummingbirdCore, jwt, mustache, nioCore, nioHTTP1, nioSSL, coreMetrics,
            lifecycle, logging, metrics,
        ]),
    .executableTarget(
        name: "herald",
        dependencies: [
            "Console", "GatewayAPI", "Webhooks", "Links", "HTTPListener", "Delivery", "APNS", "WebPush", "FCMRelay",
            "Upstream", "Signing", "Store", "IPAddresses", "SQLiteStorage", "Simulators", "FCMWire", "PushModel",
            "JSON",
            argumentParser, asyncHTTPClient, configuration, hummingbird, hummingbirdCore, coreMetrics,
            lifecycle, unixSignals, logging, metrics, nioCore, nioHTTP1, nioPosix, nioSSL, tracing, "Traces", yams,
        ] + (hasPostgreSQL ? ["PostgresStorage", "SQLStorage"] : [])),
]

// The storage on PostgreSQL.
let postgreSQL: [Target] =
    !hasPostgreSQL
    ? []
    : [
        .systemLibrary(name: "CPostgreSQL", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
        .target(name: "PostgreSQLClient", dependencies: ["CPostgreSQL", deque, logging]),
        .target(
            name: "PostgresStorage",
            dependencies: ["SQLStorage", "PostgreSQLClient", "Store", "PushModel", coreMetrics, logging]),
        .testTarget(name: "PostgreSQLClientTests", dependencies: ["PostgreSQLClient", "TestSupport", logging]),
        .testTarget(
            name: "PostgresStorageTests",
            dependencies: [
                "PostgresStorage", "SQLStorage", "SQLiteStorage", "PostgreSQLClient", "Store", "StoreConformance",
                "Delivery", "PushModel", "JSON", "TestSupport", coreMetrics, logging,
            ]),
    ]

// HERALD_BENCHMARKS=1 adds herald-bench: what measures is no part of what runs.
let benchmarks: [Target] =
    Context.environment["HERALD_BENCHMARKS"] == nil
    ? []
    : [
        .executableTarget(
            name: "herald-bench",
            dependencies: [
                "APNS", "Upstream", "HTTP2Client", "HTTPListener", "Signing", "CLinux", "COpenSSL", "Links", "Store",
                "SQLStorage", "SQLiteStorage", "FCMWire", "PushModel", "JSON",
                argumentParser, asyncHTTPClient, hummingbird, hummingbirdCore, hummingbirdHTTP2, logging, nioCore,
                nioHTTP1, nioPosix, nioSSL,
            ],
            path: "Sources/Benchmarks")
    ]

let tests: [Target] = [
    .target(name: "CTestDefaults", path: "Tests/CTestDefaults"),
    .target(
        name: "TestSupport", dependencies: ["CTestDefaults", "FCMWire", "PushModel", "JSON"], path: "Tests/TestSupport"),
    .target(
        name: "StoreConformance", dependencies: ["Store", "PushModel", "JSON", "TestSupport"],
        path: "Tests/StoreConformance"),
    .testTarget(
        name: "WebPushTests",
        dependencies: [
            "WebPush", "Upstream", "HTTP2Client", "Signing", "Simulators", "FCMWire", "PushModel", "JSON",
            "TestSupport",
            crypto, logging, nioCore, nioHTTP1, nioPosix, nioSSL,
        ]),
    .testTarget(
        name: "FCMRelayTests",
        dependencies: [
            "FCMRelay", "Upstream", "HTTP2Client", "Simulators", "Signing", "FCMWire", "PushModel", "JSON",
            "TestSupport", cryptoExtras, logging,
        ]),
    .testTarget(name: "SigningTests", dependencies: ["Signing", "JSON", "TestSupport", crypto, cryptoExtras]),
    .testTarget(name: "JSONTests", dependencies: ["JSON", "TestSupport"]),
    .testTarget(name: "PushModelTests", dependencies: ["PushModel", "TestSupport"]),
    .testTarget(name: "TracesTests", dependencies: ["Traces", "PushModel", "TestSupport", tracing, inMemoryTracing]),
    .testTarget(
        name: "FCMWireTests", dependencies: ["FCMWire", "PushModel", "JSON", "TestSupport"], exclude: ["Resources"]),
    .testTarget(
        name: "HTTP2ClientTests", dependencies: ["HTTP2Client", "TestSupport", logging], exclude: ["h2_server.py"]),
    .testTarget(
        name: "UpstreamTests",
        dependencies: ["Upstream", "HTTP2Client", "IPAddresses", "PushModel", "TestSupport", logging]),
    .testTarget(
        name: "APNSTests",
        dependencies: [
            "APNS", "Upstream", "HTTP2Client", "Simulators", "Signing", "FCMWire", "PushModel", "JSON", "TestSupport",
            crypto, logging,
        ]),
    .testTarget(
        name: "SQLiteStorageTests",
        dependencies: [
            "SQLStorage", "SQLiteStorage", "Store", "JSON", "StoreConformance", "PushModel", "TestSupport", coreMetrics,
            grdb, sqlite,
            logging,
        ]),
    .testTarget(
        name: "DeliveryTests",
        dependencies: [
            "Delivery", "Store", "SQLStorage", "SQLiteStorage", "StoreConformance", "APNS", "FCMWire", "PushModel",
            "JSON",
            "TestSupport", lifecycle, logging, metrics,
        ]),
    .testTarget(
        name: "HTTPListenerTests",
        dependencies: ["HTTPListener", "PushModel", nioCore, nioEmbedded, nioPosix, http2, logging]),
    .testTarget(
        name: "LinksTests",
        dependencies: [
            "Links", "HTTPListener", "Store", "SQLStorage", "SQLiteStorage", "PushModel", "JSON", "TestSupport",
            hummingbird,
            lifecycle,
            logging, mustache,
        ],
        exclude: ["Pages/page_browser.py", "QR/qr_readers.py"]),
    .testTarget(name: "IPAddressesTests", dependencies: ["IPAddresses"]),
    .testTarget(
        name: "WebhooksTests",
        dependencies: [
            "Webhooks", "Traces", "Store", "SQLStorage", "SQLiteStorage", "StoreConformance", "IPAddresses",
            "PushModel", "JSON",
            "TestSupport", crypto, inMemoryTracing, logging, tracing,
        ],
        exclude: ["webhook_judges.py"]),
    .testTarget(name: "HeraldLinksTests", dependencies: ["HeraldLinks"]),
    .testTarget(
        name: "HeraldMessagingTests", dependencies: ["HeraldMessaging", "TestSupport"],
        exclude: ["Samples", "StandIns"]),
    .testTarget(
        name: "GatewayAPITests",
        dependencies: [
            "GatewayAPI", "Webhooks", "Links", "HTTPListener", "Delivery", "Store", "SQLStorage", "SQLiteStorage",
            "APNS", "FCMWire",
            "PushModel", "JSON",
            "TestSupport", "Traces", crypto, cryptoExtras, hummingbird,
            hummingbirdTesting, inMemoryTracing, logging, tracing,
        ],
        exclude: ["Listener/h2_client.py", "Resources"]),
    .testTarget(
        name: "ConsoleTests",
        dependencies: [
            "Console", "GatewayAPI", "Webhooks", "Links", "HTTPListener", "Delivery", "Store", "SQLStorage",
            "SQLiteStorage", "APNS",
            "FCMWire", "PushModel", "JSON", "TestSupport", crypto, cryptoExtras, hummingbird, hummingbirdCore,
            hummingbirdTLS, hummingbirdTesting, logging, nioCore, nioSSL,
        ]),
    .testTarget(
        name: "SimulatorsTests",
        dependencies: [
            "Simulators", "PushModel", "TestSupport", asyncHTTPClient, crypto, cryptoExtras, logging, nioCore, nioHTTP1,
        ],
        exclude: ["Google/google_judge.py"]),
    .testTarget(
        name: "HeraldTests",
        dependencies: [
            "herald", "GatewayAPI", "HeraldLinks", "HeraldMessaging", "Links", "HTTPListener", "Delivery", "APNS",
            "WebPush", "FCMRelay",
            "Upstream",
            "Signing", "Store",
            "SQLStorage", "SQLiteStorage", "Simulators", "PushModel",
            "JSON",
            "TestSupport",
            argumentParser, asyncHTTPClient, coreMetrics, crypto, cryptoExtras, grdb, lifecycle, logging, tracing,
            "Traces",
        ],
        exclude: ["Clients/Scripts"]),
]

/// The targets that `HERALD_ONLY` names, with their tests and everything these reach.
func selection(of targets: [Target]) -> [Target] {
    guard !only.isEmpty else { return targets }
    var reached: Set<String> = []
    func reach(_ name: String) {
        guard let target = targets.first(where: { $0.name == name }), reached.insert(name).inserted else { return }
        for dependency in target.dependencies {
            if case .byNameItem(let name, _) = dependency { reach(name) }
        }
    }
    for name in only {
        reach(name)
        reach(name + "Tests")
    }
    return targets.filter { reached.contains($0.name) }
}

let targets = selection(of: libraries + postgreSQL + benchmarks + tests)
// What the gateway stands on belongs to its trait: an app that takes a library without the trait fetches none of it.
for target in targets {
    target.dependencies = target.dependencies.map { dependency in
        guard case .productItem(let name, let package, let aliases, _) = dependency else { return dependency }
        return .product(
            name: name, package: package ?? name, moduleAliases: aliases, condition: .when(traits: ["Gateway"]))
    }
}
let served = Set((libraries + postgreSQL.filter { $0.type != .test }).map(\.name))
for target in targets where target.type != .system && target.name != "CTestDefaults" {
    target.swiftSettings = settings + (served.contains(target.name) ? callers : []) + warnings + sanitizer
}

var declaredTraits: Set<Trait> = [
    .default(enabledTraits: hasPostgreSQL ? ["Gateway", "PostgreSQL"] : ["Gateway"]),
    .trait(name: "Gateway", description: "The gateway's own dependencies; libraries for apps need none."),
]
if hasPostgreSQL {
    declaredTraits.insert(.trait(name: "PostgreSQL", description: "The storage on PostgreSQL, which needs libpq."))
}

let package = Package(
    name: "herald",
    platforms: [.macOS(.v15), .iOS(.v16)],
    products: only.isEmpty
        ? [
            .executable(name: "herald", targets: ["herald"]),
            .library(name: "HeraldLinks", targets: ["HeraldLinks"]),
            .library(name: "HeraldMessaging", targets: ["HeraldMessaging"]),
        ] : [],
    traits: declaredTraits,
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", exact: "1.8.2"),
        .package(url: "https://github.com/apple/swift-certificates", exact: "1.21.1"),
        .package(url: "https://github.com/apple/swift-collections", exact: "1.6.0"),
        .package(url: "https://github.com/apple/swift-configuration", exact: "1.4.0", traits: ["YAML"]),
        .package(url: "https://github.com/apple/swift-crypto", exact: "4.5.2"),
        .package(url: "https://github.com/apple/swift-distributed-tracing", exact: "1.7.3"),
        .package(url: "https://github.com/apple/swift-log", exact: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics", exact: "2.13.0"),
        .package(url: "https://github.com/apple/swift-nio", exact: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-extras", exact: "1.35.2"),
        .package(url: "https://github.com/apple/swift-nio-http2", exact: "1.46.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl", exact: "2.37.6"),
        .package(url: "https://github.com/groue/GRDB.swift", exact: "7.10.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", exact: "2.28.1"),
        .package(url: "https://github.com/hummingbird-project/swift-mustache", exact: "2.1.1"),
        .package(url: "https://github.com/jpsim/Yams", exact: "6.2.2"),
        .package(url: "https://github.com/swift-server/async-http-client", exact: "1.37.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", exact: "2.13.0"),
        .package(url: "https://github.com/vapor/jwt-kit", exact: "5.7.1"),
    ],
    targets: targets
)
