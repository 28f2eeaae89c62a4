import Logging
import PushModel

/// One log event on its way to a line. Control characters never reach the terminal or break a line.
struct LogLine {
    var time: Timestamp
    var level: Logger.Level
    var label: String
    var message: String
    var metadata: Logger.Metadata

    /// `2026-01-02T03:04:05.678Z info message key=value other="two words"`.
    var text: String {
        let pairs = metadata.sorted { $0.key < $1.key }.map { " \($0.key)=\(Self.quoted("\($0.value)"))" }
        return "\(time.rfc3339) \(level.rawValue) \(Self.escaped(message))\(pairs.joined())"
    }

    /// `{"time":…,"level":…,"logger":…,"message":…,"metadata":{…}}`.
    var json: String {
        var members = [
            "\"time\":\"\(time.rfc3339)\"", "\"level\":\"\(level.rawValue)\"", "\"logger\":\(Self.jsonString(label))",
            "\"message\":\(Self.jsonString(message))",
        ]
        if !metadata.isEmpty { members.append("\"metadata\":\(Self.jsonObject(metadata))") }
        return "{\(members.joined(separator: ","))}"
    }

    private static func quoted(_ value: String) -> String {
        let isPlain =
            !value.isEmpty && !value.contains { $0 == " " || $0 == "\"" || $0 == "=" || $0 == "\\" || $0.isNewline }
            && value.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7f }
        return isPlain ? value : jsonString(value)
    }

    private static func escaped(_ value: String) -> String {
        value.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7f } ? value : jsonString(value)
    }

    private static func jsonObject(_ metadata: Logger.Metadata) -> String {
        let members = metadata.sorted { $0.key < $1.key }.map { "\(jsonString($0.key)):\(jsonValue($0.value))" }
        return "{\(members.joined(separator: ","))}"
    }

    private static func jsonValue(_ value: Logger.Metadata.Value) -> String {
        switch value {
        case .string(let text): jsonString(text)
        case .stringConvertible(let value): jsonString(value.description)
        case .dictionary(let members): jsonObject(members)
        case .array(let elements): "[\(elements.map(jsonValue).joined(separator: ","))]"
        @unknown default: jsonString("\(value)")
        }
    }

    /// A JSON string (RFC 8259 §7), controls escaped.
    static func jsonString(_ text: String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": result += "\\\""
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case "\r": result += "\\r"
            case "\t": result += "\\t"
            case _ where scalar.value < 0x20 || scalar.value == 0x7f:
                let hex = String(scalar.value, radix: 16)
                result += "\\u" + String(repeating: "0", count: 4 - hex.count) + hex
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }
}
