import NIOCore
import NIOPosix
import Testing

@testable import HTTPListener

struct EventLoopExecutorTests {
    private func isOn(_ loop: any EventLoop) async -> Bool { loop.inEventLoop }

    @Test func tasksAndTheirChildrenStayOnTheLoop() async {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        await withTaskExecutorPreference(EventLoopExecutor(loop)) {
            #expect(await isOn(loop))
            await Task.yield()
            #expect(await isOn(loop))
            let children = await withTaskGroup(of: Bool.self) { group in
                for _ in 0..<3 { group.addTask { await isOn(loop) } }
                return await group.reduce(into: []) { $0.append($1) }
            }
            #expect(children == [true, true, true])
        }
    }

    @Test func longWorkLeavesTheLoopAndComesBack() async {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        await withTaskExecutorPreference(EventLoopExecutor(loop)) {
            await withTaskExecutorPreference(globalConcurrentExecutor) { #expect(await !isOn(loop)) }
            #expect(await isOn(loop))
        }
    }
}
