import Testing

@testable import PostgreSQLClient

/// The connection as a value.
struct ConnectionStateTests {
    private let refusal = PostgreSQLError(.refused, "no", state: "23505")

    private func ready() -> ConnectionState {
        var state = ConnectionState()
        state.opened()
        return state
    }

    private func sent(_ requests: ConnectionState.Request...) throws -> ConnectionState {
        var state = ready()
        for request in requests { try state.send(request) }
        return state
    }

    @Test func questionIsAnsweredAndSettled() throws {
        var state = try sent(.question(1), .sync)
        #expect(state.isWaiting)
        #expect(state.take(.success("SELECT 1")) == .keep(1))
        #expect(state.take(.end) == .readOn)
        #expect(state.take(.sync) == .settle(nil))
        #expect(!state.isWaiting)
    }

    @Test func firstFailureIsToldAndTheRestIsLeftOut() throws {
        var state = try sent(.statement(.begin), .statement(.none), .statement(.none), .question(1), .sync)
        #expect(state.take(.success("BEGIN")) == .readOn)
        #expect(state.take(.end) == .readOn)
        #expect(state.transaction == .open)
        #expect(state.take(.failure(refusal)) == .readOn)
        #expect(state.take(.end) == .readOn)
        #expect(state.transaction == .aborted)
        for _ in 0..<2 {
            #expect(state.take(.leftOut) == .readOn)
            #expect(state.take(.end) == .readOn)
        }
        #expect(state.take(.sync) == .settle(refusal))
    }

    @Test func savepointMakesATransactionUsableAgain() throws {
        var state = try sent(.statement(.begin), .statement(.none), .sync)
        _ = state.take(.success("BEGIN"))
        _ = state.take(.end)
        _ = state.take(.failure(refusal))
        _ = state.take(.end)
        #expect(state.take(.sync) == .settle(refusal))
        try state.send(.statement(.rollBackToSavepoint))
        try state.send(.sync)
        _ = state.take(.success("ROLLBACK"))
        _ = state.take(.end)
        #expect(state.take(.sync) == .settle(nil))
        #expect(state.transaction == .open)
    }

    @Test func commitOfAFailedTransactionIsAnError() throws {
        var state = try sent(.statement(.begin), .statement(.commit), .sync)
        _ = state.take(.success("BEGIN"))
        _ = state.take(.end)
        _ = state.take(.success("ROLLBACK"))
        _ = state.take(.end)
        guard case .settle(let error?) = state.take(.sync) else {
            Issue.record("no failure")
            return
        }
        #expect(error.state == .transactionAborted)
        #expect(state.transaction == .none)
    }

    @Test(arguments: 0..<5)
    func answerOutOfOrderEndsTheConnection(number: Int) throws {
        let answers: [ConnectionState.Answer] = [.sync, .end, .leftOut, .success("SELECT 1"), .failure(refusal)]
        var state = number < 3 ? try sent(.question(1), .sync) : try sent(.sync)
        guard case .fail(let error) = state.take(answers[number]) else {
            Issue.record("went on")
            return
        }
        #expect(number == 4 || error.kind == .protocolViolation)
        #expect(state.failure == error)
        #expect(throws: error) { try state.send(.sync) }
    }

    @Test func answerToNothingEndsTheConnection() {
        var state = ready()
        guard case .fail = state.take(.success("SELECT 1")) else {
            Issue.record("went on")
            return
        }
    }

    // MARK: COPY

    private func copying() throws -> ConnectionState {
        var state = ready()
        try state.beginCopy()
        return state
    }

    @Test func copyTakesRowsAndThenTellsWhatBecameOfThem() throws {
        var state = try copying()
        #expect(!state.isWaiting)
        #expect(state.take(.takesRows) == .sendRows)
        try state.sendRows(isEnd: false)
        try state.sendRows(isEnd: true)
        #expect(state.take(.success("COPY 5")) == .readOn)
        #expect(state.take(.end) == .settle(nil))
        try state.send(.question(1))
        #expect(state.isWaiting)
    }

    @Test(arguments: [true, false])
    func copyThatIsRefusedEndsTheTransactionOnly(isAtItsBegin: Bool) throws {
        var state = try sent(.statement(.begin), .sync)
        for answer in [.success("BEGIN"), .end, .sync] as [ConnectionState.Answer] { _ = state.take(answer) }
        try state.beginCopy()
        if !isAtItsBegin {
            _ = state.take(.takesRows)
            try state.sendRows(isEnd: true)
        }
        #expect(state.take(.failure(refusal)) == .readOn)
        #expect(state.take(.end) == .settle(refusal))
        #expect(state.transaction == .aborted)
        try state.send(.sync)
    }

    @Test func nothingElseIsSentWhileACopyIsUnderWay() throws {
        var state = try copying()
        #expect(throws: PostgreSQLError.self) { try state.send(.question(1)) }
        #expect(throws: PostgreSQLError.self) { try state.beginCopy() }
        #expect(state.take(.takesRows) == .sendRows)
        #expect(throws: PostgreSQLError.self) { try state.send(.sync) }
        #expect(state.failure == nil)
    }

    @Test func answerOfACopyOutOfOrderEndsTheConnection() throws {
        typealias Answers = [ConnectionState.Answer]
        let loss = PostgreSQLError(.disconnected, "gone")
        let wrong: [(begin: Answers, isEnded: Bool, last: Answers)] = [
            ([], false, [.success("COPY 1")]), ([], false, [.end]), ([], false, [.sync]), ([], false, [.leftOut]),
            ([], false, [.failure(refusal), .takesRows]), ([.takesRows], false, [.takesRows]),
            ([.takesRows], false, [.failure(refusal)]), ([.takesRows], false, [.end]),
            ([.takesRows], true, [.takesRows]), ([.takesRows], true, [.end]), ([.takesRows], true, [.sync]),
            ([.takesRows], true, [.success("COPY 1"), .success("COPY 1")]), ([.takesRows], true, [.failure(loss)]),
        ]
        for (begin, isEnded, last) in wrong {
            var state = try copying()
            for answer in begin { _ = state.take(answer) }
            if isEnded { try state.sendRows(isEnd: true) }
            for answer in last.dropLast() { #expect(state.take(answer) == .readOn) }
            guard let answer = last.last, case .fail(let error) = state.take(answer) else {
                Issue.record("went on after \(begin) \(last)")
                continue
            }
            #expect(error == loss || error.kind == .protocolViolation)
            #expect(state.failure == error)
            #expect(throws: error) { try state.sendRows(isEnd: true) }
        }
    }

    @Test func answerOfACopyInThePipelineEndsTheConnection() throws {
        var state = try sent(.question(1), .sync)
        guard case .fail(let error) = state.take(.takesRows) else {
            Issue.record("went on")
            return
        }
        #expect(error.kind == .protocolViolation)
    }

    @Test func firstReasonOfALossStays() throws {
        var state = try sent(.question(1))
        let first = PostgreSQLError(.disconnected, "first")
        state.lose(first)
        state.lose(PostgreSQLError(.disconnected, "second"))
        #expect(state.failure == first)
        state.close()
        #expect(state.failure?.kind == .closed)
    }
}
