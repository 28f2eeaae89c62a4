extension StringProtocol {
    /// The text without blanks and tabs at both ends.
    var trimmingBlanks: SubSequence {
        var part = self[...]
        while let first = part.first, first == " " || first == "\t" { part = part.dropFirst() }
        while let last = part.last, last == " " || last == "\t" { part = part.dropLast() }
        return part
    }
}
