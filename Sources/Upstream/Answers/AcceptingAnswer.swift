import HTTP2Client

/// An answer that accepts a push, as a service reads it.
package struct AcceptingAnswer {
    private let response: Response

    init(_ response: Response) {
        self.response = response
    }

    /// The body, cut off after 16 KiB.
    package var body: [UInt8] { response.body }

    /// The value of a header field that is kept (``UpstreamConfiguration/answerFields``), by its name in lower case.
    package func field(_ name: String) -> String? { response.header(name) }
}
