package import PushModel
package import Store

/// Pauses, resumes and cancels messages, and says when they will be through. Safe to share.
package final class MessageController: Sendable {
    private let store: any MessageStore
    private let runner: DeliveryRunner?
    private let wallTime: WallTime

    /// Prepares a controller.
    ///
    /// - Parameter runner: who works on the messages; it hears of each change. `nil`: this process sends nothing.
    package init(store: any MessageStore, runner: DeliveryRunner?, wallTime: @escaping WallTime) {
        self.store = store
        self.runner = runner
        self.wallTime = wallTime
    }

    /// Pauses, resumes or cancels a message; see ``MessageControl``. What changes nothing is no error; what does is audited.
    ///
    /// - Returns: the state afterwards; `nil`: there is no such message.
    package func control(
        _ id: MessageID, in project: ProjectID, _ control: MessageControl, by credential: CredentialUse
    ) async throws(StoreError) -> MessageState? {
        let state = try await store.control(id, in: project, control, at: wallTime(), by: credential)
        if state != nil { runner?.controlled(id, control) }
        return state
    }

    /// When the last recipient of a message that is fanned out now will have been claimed, by its pace or by how fast it
    /// went lately; `nil`: unknown, or it is not fanned out.
    package func expectedEnd(of id: MessageID) -> Timestamp? {
        runner?.expectedEnd(of: id)
    }
}
