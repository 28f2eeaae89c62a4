import Foundation
import Glibc
import Synchronization

/// `MSG_NOSIGNAL`, which is not imported in every build.
private let withoutSignal: Int32 = 0x4000

/// A receiver of webhooks on this machine, as rude as the path of its URL says. Plain sockets and threads: another HTTP than
/// that of the client.
package final class WebhookReceiver: Sendable {
    /// A request as it came.
    package struct Request: Hashable, Sendable {
        /// The path with its query.
        package var path: String
        /// Header fields, by their names in lower case.
        package var headers: [String: String]
        /// The body.
        package var body: [UInt8]

        /// `webhook-id`.
        package var id: String { headers["webhook-id"] ?? "" }
        /// The body as text.
        package var text: String { String(decoding: body, as: UTF8.self) }
    }

    /// How a request is answered.
    package enum Reply: Sendable {
        /// With this status line, such as `200 OK`, fields and body; the connection stays open.
        case answer(String, headers: [String] = [], body: String = "")
        /// Not at all: the connection stays open.
        case silence
        /// With the head, and no body ever.
        case headOnly
        /// With a body without an end.
        case endless
        /// RST.
        case reset
        /// With bytes that are no HTTP.
        case garbage
    }

    private struct State {
        var requests: [Request] = []
        var watchers: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
        var sockets: Set<Int32> = []
        var isOver = false
        /// How many requests are being answered, and the most there were.
        var (now, most) = (0, 0)
    }

    /// Shared with the threads, so that these don't keep the receiver.
    private final class Board: Sendable {
        let state = Mutex(State())
        let reply: @Sendable (Request, _ number: Int) -> Reply

        init(reply: @escaping @Sendable (Request, Int) -> Reply) {
            self.reply = reply
        }
    }

    /// The port that it listens on.
    package let port: Int
    private let listener: Int32
    private let closed: Int32
    private let board: Board

    /// Listens at once.
    ///
    /// - Parameter reply: what a request gets; the number is that among all, from 1.
    package init(
        reply: @escaping @Sendable (Request, _ number: Int) -> Reply = { _, _ in .answer("204 No Content") }
    ) throws {
        (listener, closed, port) = try Loopback.v4.listenAlone(backlog: 128)
        board = Board(reply: reply)
        let (listener, board) = (listener, board)
        Thread {
            while true {
                let client = accept(listener, nil, nil)
                guard client >= 0 else { break }
                let isOpen = board.state.withLock { state in
                    if !state.isOver { state.sockets.insert(client) }
                    return !state.isOver
                }
                guard isOpen else {
                    close(client)
                    continue
                }
                Thread { Self.serve(client, board) }.start()
            }
            close(listener)
        }.start()
    }

    /// The URL of a path.
    package func url(_ path: String = "/") -> String { "http://127.0.0.1:\(port)\(path)" }

    /// What came so far.
    package var requests: [Request] { board.state.withLock { $0.requests } }

    /// The most requests that were being answered at a time.
    package var mostAtOnce: Int { board.state.withLock { $0.most } }

    /// Returns once so many requests have come.
    package func untilReceived(_ count: Int) async {
        await withCheckedContinuation { continuation in
            let isThere = board.state.withLock { state in
                if state.requests.count >= count { return true }
                state.watchers.append((count, continuation))
                return false
            }
            if isThere { continuation.resume() }
        }
    }

    deinit {
        // Wakes the accepting thread, and those that wait for requests.
        shutdown(listener, Int32(SHUT_RDWR))
        if closed >= 0 { close(closed) }
        board.state.withLock { state in
            state.isOver = true
            for socket in state.sockets { shutdown(socket, Int32(SHUT_RDWR)) }
        }
    }

    // MARK: A connection

    private static func serve(_ socket: Int32, _ board: Board) {
        defer {
            board.state.withLock { _ = $0.sockets.remove(socket) }
            close(socket)
        }
        while let request = request(from: socket) {
            let (number, watchers) = board.state.withLock { state in
                state.requests.append(request)
                state.now += 1
                state.most = max(state.most, state.now)
                let count = state.requests.count
                let ready = state.watchers.filter { $0.count <= count }.map(\.continuation)
                state.watchers.removeAll { $0.count <= count }
                return (count, ready)
            }
            for watcher in watchers { watcher.resume() }
            let goesOn = answer(socket, board.reply(request, number), board)
            board.state.withLock { $0.now -= 1 }
            guard goesOn else { return }
        }
    }

    /// - Returns: whether the connection takes another request.
    private static func answer(_ socket: Int32, _ reply: Reply, _ board: Board) -> Bool {
        switch reply {
        case .answer(let status, let headers, let body):
            let fields = headers.map { $0 + "\r\n" }.joined()
            let length = status.hasPrefix("204") ? "" : "content-length: \(body.utf8.count)\r\n"
            return write("HTTP/1.1 \(status)\r\n\(fields)\(length)\r\n\(body)", to: socket)
        case .silence:
            untilClosed(socket)
            return false
        case .headOnly:
            _ = write("HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n", to: socket)
            untilClosed(socket)
            return false
        case .endless:
            _ = write("HTTP/1.1 200 OK\r\ncontent-length: 10737418240\r\n\r\n", to: socket)
            let part = String(repeating: "x", count: 65_536)
            while write(part, to: socket) {}
            return false
        case .reset:
            var option = linger(l_onoff: 1, l_linger: 0)
            unsafe setsockopt(socket, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
            return false
        case .garbage:
            _ = write("SSH-2.0-OpenSSH_9.2\r\n", to: socket)
            return false
        }
    }

    /// The peer, or the end of the receiver, ends the wait.
    private static func untilClosed(_ socket: Int32) {
        while let bytes = read(socket), !bytes.isEmpty {}
    }

    private static func request(from socket: Int32) -> Request? {
        var bytes: [UInt8] = []
        var end: Int?
        while end == nil {
            guard let more = read(socket), !more.isEmpty else { return nil }
            let start = max(0, bytes.count - 3)
            bytes += more
            end = bytes[start...].firstRange(of: Array("\r\n\r\n".utf8))?.upperBound
        }
        guard let end else { return nil }
        let lines = String(decoding: bytes[..<(end - 4)], as: UTF8.self).components(separatedBy: "\r\n")
        var headers: [String: String] = [:]
        for line in lines.dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1)
            if parts.count == 2 { headers[parts[0].lowercased()] = parts[1].trimmingCharacters(in: .whitespaces) }
        }
        let length = headers["content-length"].flatMap { Int($0) } ?? 0
        var body = Array(bytes[end...])
        while body.count < length {
            guard let more = read(socket), !more.isEmpty else { return nil }
            body += more
        }
        let path = lines.first?.split(separator: " ").dropFirst().first.map(String.init) ?? ""
        return Request(path: path, headers: headers, body: Array(body.prefix(length)))
    }

    private static func read(_ socket: Int32) -> [UInt8]? {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let count = unsafe recv(socket, &buffer, buffer.count, 0)
        return count < 0 ? nil : Array(buffer[..<count])
    }

    private static func write(_ text: String, to socket: Int32) -> Bool {
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            let count = unsafe bytes.withUnsafeBytes { unsafe send(socket, $0.baseAddress, $0.count, withoutSignal) }
            guard count > 0 else { return false }
            bytes = bytes.dropFirst(count)
        }
        return true
    }
}

extension Array where Element == UInt8 {
    fileprivate func firstRange(of part: [UInt8]) -> Range<Int>? { self[...].firstRange(of: part) }
}

extension ArraySlice where Element == UInt8 {
    fileprivate func firstRange(of part: [UInt8]) -> Range<Int>? {
        guard count >= part.count else { return nil }
        return (startIndex...(endIndex - part.count)).first { self[$0..<($0 + part.count)].elementsEqual(part) }
            .map { $0..<($0 + part.count) }
    }
}
