/// Milliseconds as a google.protobuf.Duration: `"0.123s"`, `"2s"`.
func durationText(milliseconds: Int64) -> String {
    let sign = milliseconds < 0 ? "-" : ""
    let (seconds, rest) = milliseconds.magnitude.quotientAndRemainder(dividingBy: 1000)
    guard rest > 0 else { return "\(sign)\(seconds)s" }
    let digits = String(rest)
    return "\(sign)\(seconds).\(String(repeating: "0", count: 3 - digits.count))\(digits)s"
}
