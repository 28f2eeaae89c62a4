/// Makes steps of a pattern's tree.
struct PatternCompiler {
    /// Bounds a match to so many steps for each byte of a URL. `{m,n}` writes its atom out n times.
    static let stepLimit = 2_000

    private(set) var program: [PatternStep] = []
    /// Counts the trees that were written out, empty ones too: `(?:){1000}` in itself would take for ever.
    private var work = 0

    /// Compiles the whole pattern.
    mutating func compile(_ tree: PatternTree) throws(LinkPattern.Refusal) {
        try emit(tree)
        try append(.accept)
    }

    private mutating func append(_ step: PatternStep) throws(LinkPattern.Refusal) {
        guard program.count < Self.stepLimit else { throw Self.tooLarge }
        program.append(step)
    }

    private static let tooLarge = LinkPattern.Refusal(offset: 0, message: "too large when repetitions are written out")

    private mutating func emit(_ tree: PatternTree) throws(LinkPattern.Refusal) {
        work += 1
        guard work <= 4 * Self.stepLimit else { throw Self.tooLarge }
        switch tree {
        case .take(let set): try append(.take(set))
        case .beginning: try append(.beginning)
        case .end: try append(.end)
        case .sequence(let items): for item in items { try emit(item) }
        case .alternatives(let branches): try emit(branches)
        case .repeated(let tree, let least, let most): try emit(tree, least, most)
        }
    }

    private mutating func emit(_ branches: [PatternTree]) throws(LinkPattern.Refusal) {
        var jumps: [Int] = []
        for branch in branches.dropLast() {
            let split = program.count
            try append(.split(split + 1, split + 1))
            try emit(branch)
            jumps.append(program.count)
            try append(.jump(0))
            program[split] = .split(split + 1, program.count)
        }
        if let last = branches.last { try emit(last) }
        for jump in jumps { program[jump] = .jump(program.count) }
    }

    private mutating func emit(_ tree: PatternTree, _ least: Int, _ most: Int?) throws(LinkPattern.Refusal) {
        for _ in 0..<least { try emit(tree) }
        guard let most else { return try emitLoop(tree) }
        var splits: [Int] = []
        for _ in least..<most {
            splits.append(program.count)
            try append(.split(0, 0))
            try emit(tree)
        }
        for split in splits { program[split] = .split(split + 1, program.count) }
    }

    private mutating func emitLoop(_ tree: PatternTree) throws(LinkPattern.Refusal) {
        let split = program.count
        try append(.split(0, 0))
        try emit(tree)
        try append(.jump(split))
        program[split] = .split(split + 1, program.count)
    }
}

/// Runs a program over a text, at all places of the program that it can be at once.
struct PatternMatcher {
    private let program: [PatternStep]
    /// The places that take a byte next, and whether the end of the program was reached.
    private var places: [Int] = []
    private var lastPlaces: [Int] = []
    private var isAccepted = false
    /// For each place the last position of the text at which it was reached, plus 1: none is followed twice.
    private var marks: [Int]
    private var pending: [Int] = []

    init(_ program: [PatternStep]) {
        self.program = program
        marks = Array(repeating: 0, count: program.count)
    }

    /// Whether the program takes the whole text.
    mutating func matches(_ text: [UInt8]) -> Bool {
        reach(0, at: 0, of: text.count)
        for position in text.indices {
            guard !places.isEmpty else { return false }
            swap(&places, &lastPlaces)
            places.removeAll(keepingCapacity: true)
            isAccepted = false
            for index in lastPlaces.indices {
                let place = lastPlaces[index]
                if case .take(let set) = program[place], set.contains(text[position]) {
                    reach(place + 1, at: position + 1, of: text.count)
                }
            }
        }
        return isAccepted
    }

    /// Adds a place and all that can be reached from it without taking a byte.
    private mutating func reach(_ place: Int, at position: Int, of end: Int) {
        pending.append(place)
        while let place = pending.popLast() {
            guard marks[place] != position + 1 else { continue }
            marks[place] = position + 1
            switch program[place] {
            case .take: places.append(place)
            case .split(let one, let other):
                pending.append(other)
                pending.append(one)
            case .jump(let other): pending.append(other)
            case .beginning: if position == 0 { pending.append(place + 1) }
            case .end: if position == end { pending.append(place + 1) }
            case .accept: isAccepted = true
            }
        }
    }
}
