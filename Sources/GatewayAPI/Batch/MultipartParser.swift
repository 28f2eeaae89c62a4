/// Cuts a multipart body (RFC 2046 §5.1) into its parts, however the body's bytes arrive.
///
/// Takes lines that end with CRLF or LF alone, and blanks behind a delimiter. What stands before the first delimiter
/// and behind the last one is passed over. Keeps as much as the body has bytes.
struct MultipartParser {
    /// Where the parser is in the body.
    private enum State {
        /// Before the first delimiter.
        case preamble
        /// In a part; its bytes so far.
        case part([UInt8])
        /// Behind the closing delimiter.
        case epilogue
    }

    private let delimiter: [UInt8]
    private let partLimit: Int
    private var state = State.preamble
    private var line: [UInt8] = []
    private var parts: [[UInt8]] = []

    /// - Parameters:
    ///   - boundary: what stands in delimiters behind the two hyphens.
    ///   - partLimit: the most parts.
    init(boundary: String, partLimit: Int) {
        delimiter = Array("--\(boundary)".utf8)
        self.partLimit = partLimit
    }

    /// Takes more of the body.
    mutating func append(_ bytes: some Sequence<UInt8>) throws(MultipartProblem) {
        for byte in bytes {
            line.append(byte)
            if byte == UInt8(ascii: "\n") { try endLine() }
        }
    }

    /// Ends the body.
    ///
    /// - Returns: the parts in their order, each with its header, without the line break in front of a delimiter.
    mutating func finish() throws(MultipartProblem) -> [[UInt8]] {
        if !line.isEmpty { try endLine() }
        switch state {
        case .preamble: throw MultipartProblem("The body has no delimiter --<boundary>.")
        case .part: throw MultipartProblem("The body ends before its closing delimiter --<boundary>--.")
        case .epilogue: return parts
        }
    }

    private mutating func endLine() throws(MultipartProblem) {
        defer { line.removeAll(keepingCapacity: true) }
        switch (state, delimiterKind) {
        case (.epilogue, _), (.preamble, nil):
            break
        case (.part(var bytes), nil):
            // Let go of, so that the bytes are not copied with each line.
            state = .preamble
            bytes += line
            state = .part(bytes)
        case (.preamble, .next?):
            state = .part([])
        case (.preamble, .closing?):
            state = .epilogue
        case (.part(let bytes), .next?):
            try end(bytes)
            state = .part([])
        case (.part(let bytes), .closing?):
            try end(bytes)
            state = .epilogue
        }
    }

    private mutating func end(_ bytes: [UInt8]) throws(MultipartProblem) {
        guard parts.count < partLimit else {
            throw MultipartProblem("The body has more than \(partLimit) parts.")
        }
        parts.append(Array(bytes[..<bytes.endWithoutLineBreak]))
    }

    private enum DelimiterKind {
        case next, closing
    }

    /// What kind of delimiter the line is; `nil`: none.
    private var delimiterKind: DelimiterKind? {
        guard line.starts(with: delimiter) else { return nil }
        var rest = line[delimiter.count..<line.endWithoutLineBreak]
        let isClosing = rest.starts(with: "--".utf8)
        if isClosing { rest = rest.dropFirst(2) }
        guard rest.allSatisfy({ $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }) else { return nil }
        return isClosing ? .closing : .next
    }
}

/// Why a body or a part can't be read.
struct MultipartProblem: Error, Equatable {
    /// A sentence for the caller.
    let text: String

    init(_ text: String) {
        self.text = text
    }
}

extension RandomAccessCollection<UInt8> where Index == Int {
    /// Where the bytes end without the CRLF or LF at their end.
    fileprivate var endWithoutLineBreak: Int {
        guard last == UInt8(ascii: "\n") else { return endIndex }
        let end = endIndex - 1
        return end > startIndex && self[end - 1] == UInt8(ascii: "\r") ? end - 1 : end
    }
}

/// Header fields up to an empty line, and what comes behind it (RFC 5322 §2.2, RFC 9112 §2.1).
struct HeaderBlock {
    /// One field.
    struct Field: Equatable {
        /// As written; compared without regard to case.
        let name: String
        /// Without blanks around it.
        let value: String
    }

    /// The most fields.
    static let fieldLimit = 100
    /// The longest line in bytes.
    static let lineLimitBytes = 16 << 10

    /// The line before the fields, where there is one.
    let startLine: String?
    /// The fields in their order.
    let fields: [Field]
    /// What comes behind the empty line.
    let body: ArraySlice<UInt8>

    /// Reads a block.
    ///
    /// - Parameter hasStartLine: whether a line stands before the fields, as in an HTTP message; empty ones before it
    ///   are passed over.
    init(_ bytes: [UInt8], hasStartLine: Bool) throws(MultipartProblem) {
        var rest = bytes[...]
        var start: String?
        if hasStartLine {
            repeat {
                start = try Self.line(&rest)
            } while start?.isEmpty == true
            guard start != nil else { throw MultipartProblem("The part holds no request.") }
        }
        startLine = start
        var fields: [Field] = []
        while let line = try Self.line(&rest), !line.isEmpty {
            if line.hasPrefix(" ") || line.hasPrefix("\t"), let last = fields.popLast() {
                // A field goes on in the next line.
                fields.append(Field(name: last.name, value: "\(last.value) \(line.trimmingBlanks)"))
                continue
            }
            guard fields.count < Self.fieldLimit else {
                throw MultipartProblem("A part has more than \(Self.fieldLimit) header fields.")
            }
            guard let colon = line.firstIndex(of: ":") else {
                throw MultipartProblem("A line in the header of a part has no colon.")
            }
            fields.append(
                Field(name: String(line[..<colon]), value: String(line[line.index(after: colon)...].trimmingBlanks)))
        }
        self.fields = fields
        body = rest
    }

    /// The value of the first field of a name.
    subscript(name: String) -> String? {
        let name = name.lowercased()
        return fields.first { $0.name.lowercased() == name }?.value
    }

    /// Takes the next line off; `nil` at the end.
    private static func line(_ rest: inout ArraySlice<UInt8>) throws(MultipartProblem) -> String? {
        guard !rest.isEmpty else { return nil }
        let line: ArraySlice<UInt8>
        if let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
            line = rest[rest.startIndex...end]
            rest = rest[(end + 1)...]
        } else {
            line = rest
            rest = rest[rest.endIndex...]
        }
        let content = line[..<line.endWithoutLineBreak]
        guard content.count <= lineLimitBytes else {
            throw MultipartProblem("A line in the header of a part is longer than \(lineLimitBytes) bytes.")
        }
        guard let text = String(validating: content, as: UTF8.self) else {
            throw MultipartProblem("The header of a part is not UTF-8.")
        }
        return text
    }
}
