/// Renders the part of a page once for all feeds that show it: those that ask while it is rendered share the next one, which
/// begins after they asked and so has what they were told of.
actor SharedRenders {
    private struct Page {
        /// How many feeds wait for it or render it.
        var users = 0
        /// How many renders have begun.
        var begun = 0
        var isRendering = false
        /// The last render that ended, with its number.
        var last: (number: Int, part: String?)?
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private var pages: [String: Page] = [:]

    /// The part of a page, by a render that begins from now on: an own one, or one that another feed began.
    func part(
        of page: String, _ render: @Sendable () async throws -> String?
    ) async throws -> String? {
        let asked = pages[page]?.begun ?? 0
        pages[page, default: Page()].users += 1
        defer { leave(page) }
        while pages[page]?.isRendering == true {
            await withCheckedContinuation { pages[page]?.waiting.append($0) }
            if let last = pages[page]?.last, last.number > asked { return last.part }
        }
        pages[page]?.begun += 1
        pages[page]?.isRendering = true
        let number = pages[page]?.begun ?? 0
        do {
            let part = try await render()
            pages[page]?.last = (number, part)
            end(page)
            return part
        } catch {
            // The next that waits renders for itself.
            end(page)
            throw error
        }
    }

    /// How many feeds wait for a page's part.
    func waiting(for page: String) -> Int { pages[page]?.waiting.count ?? 0 }

    private func end(_ page: String) {
        pages[page]?.isRendering = false
        let waiting = pages[page]?.waiting ?? []
        pages[page]?.waiting = []
        for continuation in waiting { continuation.resume() }
    }

    private func leave(_ page: String) {
        pages[page]?.users -= 1
        if pages[page]?.users == 0 { pages[page] = nil }
    }
}
