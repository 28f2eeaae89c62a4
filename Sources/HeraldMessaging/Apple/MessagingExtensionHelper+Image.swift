#if canImport(UserNotifications)
    import Foundation
    public import UserNotifications
    import os

    #if canImport(FoundationNetworking)
        import FoundationNetworking
    #endif

    extension MessagingExtensionHelper {
        /// What an extension is handed and hands back.
        private typealias Handed = (
            content: UNMutableNotificationContent, handler: (UNNotificationContent) -> Void
        )

        /// Adds the message's image, if it has one that can be loaded, and hands the content on, on a thread of its own. What
        /// else is to be changed about the content is changed before.
        public func populateNotificationContent(
            _ content: UNMutableNotificationContent,
            withContentHandler contentHandler: @escaping (UNNotificationContent) -> Void
        ) {
            guard let image = MessagePayload(content.userInfo).image else { return contentHandler(content) }
            // The lock carries both to the task, which is the only one to use them from here on.
            let handed = OSAllocatedUnfairLock<Handed>(uncheckedState: (content, contentHandler))
            Task {
                let file = await Self.load(image)
                handed.withLockUnchecked { handed in
                    // An attachment that the system does not take is left out: the message is shown without it.
                    let attachment = file.flatMap { try? UNNotificationAttachment(identifier: "image", url: $0) }
                    if let attachment { handed.content.attachments = [attachment] }
                    handed.handler(handed.content)
                }
            }
        }

        /// Loads an image into a file; `nil`: it could not be loaded.
        private static func load(_ image: URL) async -> URL? {
            do {
                let (data, response) = try await URLSession.shared.data(from: image)
                // The system tells what it is by the name.
                let type = response.mimeType?.split(separator: "/").last.map(String.init) ?? "jpeg"
                let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).\(type)")
                try data.write(to: file)
                return file
            } catch {
                return nil
            }
        }
    }
#endif
