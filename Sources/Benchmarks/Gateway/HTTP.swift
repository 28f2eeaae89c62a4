import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import NIOSSL

/// The benchmark's HTTP client: connections that are kept open, to 127.0.0.1.
enum HTTP {
    /// Pooled: a request takes a connection that is open and free. A gateway that speaks TLS has a certificate of its own
    /// in each run, and nothing stands on the way to it.
    private static let client: HTTPClient = {
        var configuration = HTTPClient.Configuration(certificateVerification: .none)
        configuration.timeout.connect = .seconds(10)
        // A request never waits for the answer to another one.
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 1024
        return HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }()

    private static let answerLimitBytes = 64 << 20

    /// What a resource says, decoded from JSON.
    static func get<Value: Decodable>(
        _ address: String, key: String? = nil, as type: Value.Type
    ) async throws -> Value {
        try JSONDecoder().decode(type, from: try await send(.GET, address, key: key, body: nil))
    }

    /// Posts JSON; what the answer says.
    static func post<Value: Decodable>(
        _ body: String, to address: String, key: String, as type: Value.Type
    ) async throws -> Value {
        try JSONDecoder().decode(type, from: try await send(.POST, address, key: key, body: body))
    }

    /// Deletes a resource.
    static func delete(_ address: String, key: String) async throws {
        _ = try await send(.DELETE, address, key: key, body: nil)
    }

    /// - Throws: ``BenchFailure`` for another answer than 200.
    private static func send(_ method: HTTPMethod, _ address: String, key: String?, body: String?) async throws -> Data
    {
        var request = HTTPClientRequest(url: address)
        request.method = method
        if let key { request.headers.add(name: "authorization", value: "Bearer \(key)") }
        if let body {
            request.headers.add(name: "content-type", value: "application/json")
            request.body = .bytes(ByteBuffer(string: body))
        }
        let response = try await client.execute(request, timeout: .seconds(120))
        let answer = Data(buffer: try await response.body.collect(upTo: answerLimitBytes))
        guard response.status == .ok else {
            throw BenchFailure(
                "\(method) \(address) was answered \(response.status): \(String(decoding: answer, as: UTF8.self))")
        }
        return answer
    }
}

extension Data {
    fileprivate init(buffer: ByteBuffer) {
        self.init(buffer.readableBytesView)
    }
}
