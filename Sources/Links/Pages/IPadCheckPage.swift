/// A page that sends iPads and Macs to different places by whether the screen can be touched.
package struct IPadCheckPage: Hashable, Sendable {
    let ipadURL: String
    let desktopURL: String

    /// - Parameters:
    ///   - ipadURL: for a screen that takes more than one finger.
    ///   - desktopURL: for any other, and without JavaScript.
    package init(ipadURL: String, desktopURL: String) {
        self.ipadURL = ipadURL
        self.desktopURL = desktopURL
    }
}
