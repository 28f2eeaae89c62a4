import Foundation

/// Hosts with letters beyond ASCII as DNS has them: Punycode (RFC 3492) behind `xn--`.
enum InternationalHost {
    /// The ASCII form of a host, labels without other letters as they are; `nil`: it has characters that no host's name has,
    /// or that are another spelling of such, as full-width letters.
    static func ascii(_ host: String) -> String? {
        let name = host.precomposedStringWithCanonicalMapping.lowercased().precomposedStringWithCanonicalMapping
        guard name.precomposedStringWithCompatibilityMapping == name,
            name.unicodeScalars.allSatisfy({ $0.isASCII || isLetter($0) })
        else { return nil }
        var labels: [String] = []
        for label in name.split(separator: ".", omittingEmptySubsequences: false) {
            guard let label = ascii(label: label) else { return nil }
            labels.append(label)
        }
        return labels.joined(separator: ".")
    }

    /// A label of DNS has 63 bytes; longer ones are not worth the encoder's time, which grows with the square.
    private static let labelLimit = 63

    private static func ascii(label: Substring) -> String? {
        guard !label.unicodeScalars.allSatisfy(\.isASCII) else { return String(label) }
        guard label.unicodeScalars.count <= labelLimit, let first = label.unicodeScalars.first, !isMark(first) else {
            return nil
        }
        return Punycode.encode(label.unicodeScalars.map(\.value)).map { "xn--" + $0 }
    }

    private static func isLetter(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .lowercaseLetter, .otherLetter, .modifierLetter, .decimalNumber: true
        default: isMark(scalar)
        }
    }

    private static func isMark(_ scalar: Unicode.Scalar) -> Bool {
        let category = scalar.properties.generalCategory
        return category == .nonspacingMark || category == .spacingMark
    }
}

/// The encoder of RFC 3492 §6.3, with the parameters of §5.
enum Punycode {
    private static let (base, low, high, skew, damp) = (36, 1, 26, 38, 700)
    private static let (firstBias, firstCode) = (72, 0x80)

    /// Encodes code points; `nil`: a number overflowed.
    static func encode(_ codes: [UInt32]) -> String? {
        var output = codes.filter { $0 < 0x80 }.map { UInt8($0) }
        let basicCount = output.count
        if basicCount > 0 { output.append(UInt8(ascii: "-")) }
        var (code, delta, bias, handled) = (firstCode, 0, firstBias, basicCount)
        while handled < codes.count {
            guard let next = codes.lazy.map(Int.init).filter({ $0 >= code }).min() else { return nil }
            let (step, overflows) = (next - code).multipliedReportingOverflow(by: handled + 1)
            guard !overflows else { return nil }
            delta += step
            code = next
            for value in codes.lazy.map(Int.init) {
                if value < code { delta += 1 }
                guard value == code else { continue }
                append(delta, bias: bias, to: &output)
                bias = adapt(delta, points: handled + 1, isFirst: handled == basicCount)
                delta = 0
                handled += 1
            }
            delta += 1
            code += 1
        }
        return String(decoding: output, as: UTF8.self)
    }

    /// A number of variable length (§3.3).
    private static func append(_ number: Int, bias: Int, to output: inout [UInt8]) {
        var rest = number
        var place = base
        while true {
            let threshold = min(max(place - bias, low), high)
            guard rest >= threshold else { break }
            output.append(digit(threshold + (rest - threshold) % (base - threshold)))
            rest = (rest - threshold) / (base - threshold)
            place += base
        }
        output.append(digit(rest))
    }

    private static func digit(_ value: Int) -> UInt8 {
        value < 26 ? UInt8(ascii: "a") + UInt8(value) : UInt8(ascii: "0") + UInt8(value - 26)
    }

    /// §3.4.
    private static func adapt(_ delta: Int, points: Int, isFirst: Bool) -> Int {
        var delta = isFirst ? delta / damp : delta / 2
        delta += delta / points
        var divisions = 0
        while delta > (base - low) * high / 2 {
            delta /= base - low
            divisions += base
        }
        return divisions + (base - low + 1) * delta / (delta + skew)
    }
}
