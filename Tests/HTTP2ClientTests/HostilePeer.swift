/// What a server may say, right, wrong or mad: frames made by chance from a seed. Most are valid, so that what is not
/// meets a session deep in its work.
struct HostilePeer {
    var random: SplitMix
    /// One in so many steps is damaged; 0: none is.
    private let damage: Int
    /// One in so many choices is a wrong one.
    private let wildness: Int

    init(seed: UInt64) {
        random = SplitMix(state: seed)
        damage = [0, 0, 3, 10][Int(random.next() >> 62)]
        wildness = [4, 40, 200, 2000][Int(random.next() >> 62)]
    }

    mutating func below(_ limit: Int) -> Int { Int(truncatingIfNeeded: random.next() >> 33) % limit }
    mutating func oneIn(_ count: Int) -> Bool { below(count) == 0 }
    private mutating func isWild() -> Bool { oneIn(wildness) }

    private mutating func byte() -> UInt8 { UInt8(truncatingIfNeeded: random.next() >> 40) }
    private mutating func noise(_ count: Int) -> [UInt8] { (0..<count).map { _ in byte() } }

    // MARK: Steps

    /// The first bytes: SETTINGS, nearly always.
    mutating func greeting() -> [UInt8] {
        if isWild() { return damaged(step(for: [])) }
        return damaged(settings() + (oneIn(4) ? [] : Frame.settingsAcknowledged.bytes))
    }

    /// The next bytes, given the streams that are open.
    mutating func next(for open: [UInt32]) -> [UInt8] { damaged(step(for: open)) }

    private mutating func step(for open: [UInt32]) -> [UInt8] {
        guard !open.isEmpty || isWild() else { return aside(0) }
        let stream = isWild() ? oddStream() : (open.randomElement(using: &random) ?? 1)
        if isWild() { return nonsense(stream, open) }
        switch below(24) {
        case 0..<12: return answer(stream)
        case 12..<15: return refusal(stream)
        case 15: return interim(stream)
        case 16: return Frame.reset(stream, code: UInt32(below(16))).bytes
        case 17: return oneIn(3) ? goAway(open) : answer(stream)
        case 18: return oneIn(8) ? flood(stream) : refusal(stream)
        default: return aside(stream)
        }
    }

    /// What is not about an answer, and allowed at any time.
    private mutating func aside(_ stream: UInt32) -> [UInt8] {
        switch below(6) {
        case 0: settings()
        case 1: Frame(type: Frame.ping, flags: UInt8(below(2)), payload: noise(8)).bytes
        case 2: windowUpdate(oneIn(2) ? 0 : stream)
        case 3: Frame(type: 2, stream: max(1, stream), payload: big(UInt32(below(9) * 2)) + [byte()]).bytes
        case 4: Frame(type: UInt8(10 + below(7)), stream: oddStream(), payload: noise(below(40))).bytes
        default: settings() + Frame(type: Frame.ping, payload: noise(8)).bytes
        }
    }

    private mutating func nonsense(_ stream: UInt32, _ open: [UInt32]) -> [UInt8] {
        switch below(10) {
        case 0: data(stream, ends: oneIn(2))
        case 1: block(Frame.headers, stream, fields(trailers: true), ends: true)
        case 2: Frame.settingsAcknowledged.bytes
        case 3: pushPromise(stream)
        case 4: Frame(type: byte(), flags: byte(), stream: stream, payload: noise(below(40))).bytes
        case 5: noise(1 + below(60))
        case 6: hugeLength(stream)
        case 7: goAway(open)
        case 8: flood(stream)
        default: Frame(type: UInt8(below(10)), flags: byte(), stream: stream, payload: noise(below(20))).bytes
        }
    }

    /// Mostly one that makes no sense.
    private mutating func oddStream() -> UInt32 {
        [0, 1, 2, 3, 4, 99, 101, 0x7FFF_FFFF][below(8)]
    }

    private func big(_ value: UInt32) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) }
    }

    // MARK: Frames

    private mutating func settings() -> [UInt8] {
        var payload: [UInt8] = []
        if !oneIn(8) { payload += [0, 3] + big(UInt32([0, 1, 2, 4, 8, 100, 0x7FFF_FFFF][below(7)])) }
        for _ in 0..<below(3) {
            switch below(6) {
            case 0: payload += [0, 1] + big(UInt32([0, 64, 4096, 65_536, 0xFFFF_FFFF][below(5)]))
            case 1: payload += [0, 4] + big(UInt32([0, 1, 10, 65_535, 70_000][below(5)]))
            case 2: payload += [0, 5] + big(UInt32([16_384, 16_385, 0xFF_FFFF][below(3)]))
            case 3: payload += [0, 6] + big(UInt32(below(5000)))
            case 4: payload += [0x55, byte()] + noise(4)
            default: if isWild() { payload += [0, UInt8(below(10))] + noise(4) }
            }
        }
        return Frame(type: Frame.settings, payload: payload).bytes
    }

    /// A whole answer: HEADERS, sometimes DATA and trailers.
    private mutating func answer(_ stream: UInt32) -> [UInt8] {
        let hasBody = oneIn(2)
        var bytes = block(Frame.headers, stream, status() + fields(), ends: !hasBody)
        guard hasBody else { return bytes }
        let hasTrailers = oneIn(6)
        bytes += data(stream, ends: !hasTrailers)
        if hasTrailers { bytes += block(Frame.headers, stream, fields(trailers: true), ends: true) }
        return bytes
    }

    private mutating func refusal(_ stream: UInt32) -> [UInt8] {
        let body = Array(#"{"reason":"BadDeviceToken"}"#.utf8)
        return Frame.answer(stream, status: 400, ends: false).bytes + Frame.data(stream, body, ends: true).bytes
    }

    private mutating func interim(_ stream: UInt32) -> [UInt8] {
        let value = Array(["100", "103", "199"][below(3)].utf8)
        return block(Frame.headers, stream, [0x08, 3] + value + fields(), ends: oneIn(8))
    }

    private mutating func data(_ stream: UInt32, ends: Bool) -> [UInt8] {
        var frame = Frame.data(stream, noise(oneIn(20) ? 2000 : below(60)), ends: ends)
        pad(&frame)
        return frame.bytes
    }

    private mutating func goAway(_ open: [UInt32]) -> [UInt8] {
        let last = oneIn(3) ? UInt32(0x7FFF_FFFF) : (open.randomElement(using: &random) ?? UInt32(below(20)))
        let debug = oneIn(2) ? Array(#"{"reason":"Shutdown"}"#.utf8) : noise(below(700))
        return Frame(type: Frame.goAway, payload: big(last) + big(UInt32(below(16))) + debug).bytes
    }

    private mutating func windowUpdate(_ stream: UInt32) -> [UInt8] {
        let grant = isWild() ? [UInt32(0), 0x7FFF_FFFF, 0xFFFF_FFFF][below(3)] : [1, 10, 65_535][below(3)]
        return Frame(type: Frame.windowUpdate, stream: stream, payload: big(grant)).bytes
    }

    private mutating func pushPromise(_ stream: UInt32) -> [UInt8] {
        let path = [UInt8(ascii: "/")] + noise(below(60)).map { 0x61 + $0 % 26 }
        let request: [UInt8] = [0x82, 0x87, 0x04, UInt8(path.count)] + path + [0x01, 1, 0x61]
        let promised = UInt32(2 * below(4))
        return block(5, stream, big(promised) + request, ends: false)
    }

    /// Many small frames at once, as in the attacks that have names.
    private mutating func flood(_ stream: UInt32) -> [UInt8] {
        let frame: Frame
        switch below(7) {
        case 0: frame = Frame(type: Frame.ping, payload: noise(8))
        case 1: frame = Frame(type: Frame.settings, payload: [0, 3, 0, 0, 0, 4])
        case 2: frame = Frame.data(stream, [], ends: false)
        case 3: frame = Frame.reset(stream, code: 8)
        case 4: frame = Frame(type: Frame.windowUpdate, stream: stream, payload: [0, 0, 0, 1])
        case 5: frame = Frame(type: 2, stream: UInt32(2 * below(50) + 1), payload: [0, 0, 0, 0, 1])
        default: frame = Frame(type: 9, stream: stream, payload: [0x10, 1, 0x61, 1, 0x62])
        }
        let head = frame.type == 9 ? Frame(type: Frame.headers, stream: stream, payload: status()).bytes : []
        return head + Array(repeating: frame.bytes, count: 50 + below(1500)).joined()
    }

    /// A header that promises more than may come.
    private mutating func hugeLength(_ stream: UInt32) -> [UInt8] {
        var bytes = Frame(type: UInt8(below(10)), flags: byte(), stream: stream, payload: noise(below(30))).bytes
        bytes[0] = byte()
        return bytes
    }

    private mutating func pad(_ frame: inout Frame) {
        guard oneIn(6) else { return }
        let count = below(oneIn(4) ? 256 : 8)
        frame.flags |= 8
        // One in a few says more than there is.
        frame.payload = [UInt8(isWild() ? 255 : count)] + frame.payload + Array(repeating: 0, count: count)
    }

    // MARK: Header blocks

    private mutating func status() -> [UInt8] {
        if !isWild() { return [[0x88, 0x8C, 0x8D, 0x8E][below(4)]] }  // 200, 400, 404, 500 of the static table
        let value = ["200", "400", "403", "410", "429", "503", "999", "000", "20", "2000", "abc", "101"][below(12)]
        return [[0x08, 0x48, 0x18][below(3)], UInt8(value.utf8.count)] + Array(value.utf8)
    }

    private mutating func fields(trailers: Bool = false) -> [UInt8] {
        var block: [UInt8] = []
        if trailers, isWild() { block += status() }
        for _ in 0..<below(5) {
            if isWild() { block += wrongField() }
            switch below(8) {
            case 0..<5: block += literal(["apns-id", "retry-after", "date", "x", "server"][below(5)], noise(below(12)))
            case 5: block += literal("big", noise(below(200)))
            case 6: block.append(0x80 | UInt8(15 + below(47)))  // a field of the static table
            default: block += [0x40, 0x82, 0x94, 0xE7, 0x82, 0x94, 0xE7]  // Huffman codes
            }
        }
        return block
    }

    private mutating func wrongField() -> [UInt8] {
        switch below(6) {
        case 0: literal("content-length", Array(String(below(40)).utf8))
        case 1: literal(["Upper", "connection", "te", "", "a b", ":path", ":status"][below(7)], [0x31])
        case 2: [0x80 | byte()]  // any index
        case 3: [0x20 | UInt8(below(32))]  // a new table size in the wrong place
        case 4: [0x40, 0x81, byte(), 0x82, byte(), byte()]
        default: noise(below(4))
        }
    }

    private mutating func literal(_ name: String, _ value: [UInt8]) -> [UInt8] {
        let readable = oneIn(10) ? value : value.map { 0x20 + $0 % 0x5F }
        let length = readable.count < 127 ? [UInt8(readable.count)] : [127, UInt8(readable.count - 127)]
        return [[0x40, 0x00, 0x10][below(3)], UInt8(name.utf8.count)] + Array(name.utf8) + length + readable
    }

    /// A header block as one frame, or cut into CONTINUATION frames.
    private mutating func block(_ type: UInt8, _ stream: UInt32, _ payload: [UInt8], ends: Bool) -> [UInt8] {
        var frame = Frame(type: type, flags: ends ? 1 : 0, stream: stream, payload: payload)
        guard oneIn(5), payload.count > 1 else {
            frame.flags |= 4
            pad(&frame)
            return frame.bytes
        }
        var rest = payload[...]
        frame.payload = Array(rest.prefix(1 + below(rest.count)))
        rest = rest.dropFirst(frame.payload.count)
        var bytes = frame.bytes
        while !rest.isEmpty {
            let part = rest.prefix(1 + below(rest.count))
            rest = rest.dropFirst(part.count)
            bytes += Frame(type: 9, flags: rest.isEmpty ? 4 : 0, stream: stream, payload: Array(part)).bytes
        }
        return bytes
    }

    // MARK: Damage

    private mutating func damaged(_ whole: [UInt8]) -> [UInt8] {
        guard damage > 0, !whole.isEmpty, oneIn(damage) else { return whole }
        var bytes = whole
        for _ in 0...below(3) where !bytes.isEmpty {
            let place = below(bytes.count)
            let range = place..<min(bytes.count, place + 1 + below(24))
            switch below(7) {
            case 0, 1: bytes[place] ^= 1 << UInt8(below(8))
            case 2: bytes[place] = byte()
            case 3: bytes.removeSubrange(place...)
            case 4: bytes.insert(contentsOf: bytes[range], at: below(bytes.count))
            case 5: bytes.removeSubrange(range)
            default: bytes.insert(contentsOf: noise(1 + below(12)), at: place)
            }
        }
        return bytes
    }
}
