extension QRMatrix {
    /// How badly a reader is served, ISO/IEC 18004 §7.8.3: the mask with the least is taken.
    var penalty: Int {
        var penalty = 0
        for index in 0..<size {
            let row = (0..<size).map { self[$0, index] }
            let column = (0..<size).map { self[index, $0] }
            penalty += Self.runs(row) + Self.runs(column) + Self.finders(row) + Self.finders(column)
        }
        return penalty + blocks + balance
    }

    /// Runs of one colour, from five on.
    private static func runs(_ line: [Bool]) -> Int {
        var penalty = 0
        var length = 0
        var last: Bool?
        for isDark in line {
            length = isDark == last ? length + 1 : 1
            last = isDark
            if length == 5 { penalty += 3 } else if length > 5 { penalty += 1 }
        }
        return penalty
    }

    /// What looks like a finder: its pattern before or after four light modules. The quiet zone is light too.
    private static func finders(_ line: [Bool]) -> Int {
        let pattern = [true, false, true, true, true, false, true]
        var penalty = 0
        var start = 0
        while start + pattern.count <= line.count {
            let end = start + pattern.count
            if line[start], line[start..<end].elementsEqual(pattern),
                !line[max(0, start - 4)..<start].contains(true) || !line[end..<min(end + 4, line.count)].contains(true)
            {
                penalty += 40
                start = end
            } else {
                start += 1
            }
        }
        return penalty
    }

    /// Squares of four modules in one colour.
    private var blocks: Int {
        var penalty = 0
        for row in 0..<size - 1 {
            for column in 0..<size - 1 {
                let isDark = self[column, row]
                if isDark == self[column + 1, row], isDark == self[column, row + 1],
                    isDark == self[column + 1, row + 1]
                {
                    penalty += 3
                }
            }
        }
        return penalty
    }

    /// Ten for each 5 % between the share of dark modules and a half.
    private var balance: Int {
        let dark = isDark.count { $0 }
        let all = size * size
        return abs(dark * 20 - all * 10) / all * 10
    }
}
