import Foundation
import TestSupport
import Testing

@testable import Links

extension PythonScript {
    static let qrReaders = PythonScript("qr_readers.py", modules: "segno, zxingcpp, PIL", programs: ["zbarimg"])
}

/// The codes before an encoder and two readers that are not ours: segno, zxing-cpp and ZBar.
@Suite(
    .timeLimit(.minutes(5)),
    .enabled(PythonScript.qrReaders.expectation, { try await PythonScript.qrReaders.isFound() }))
struct QRReaderTests {
    /// A code for the script: what is in it, and what we drew.
    private struct Drawn: Encodable {
        var text: String
        var mode: String
        var version: Int
        var correction: String
        var mask: Int
        /// Whether the mask is the one that we chose.
        var isChosen: Bool
        /// `1` is dark.
        var rows: [String]
        var svg: String
        var png: String

        init(_ text: String, _ code: QRCode, isChosen: Bool, png: String) {
            self.text = text
            mode = QRBits(text).mode == .bytes ? "byte" : "alphanumeric"
            version = code.version
            correction = code.correction.letter
            mask = code.mask
            self.isChosen = isChosen
            rows = (0..<code.size).map { y in String((0..<code.size).map { x in code[x, y] ? "1" : "0" }) }
            svg = code.svg(pixels: 256)
            self.png = png
        }
    }

    private func judge(_ codes: [(text: String, correction: QRCorrection, mask: Int?)]) async throws {
        let directory = try TestDirectory()
        var drawn: [Drawn] = []
        for (text, correction, mask) in codes {
            let code = try QRCode(text, correction: correction, mask: mask)
            let file = directory.file("\(drawn.count).png")
            // Three pixels a module and some more that make no whole module.
            try Data(code.png(pixels: 3 * (code.size + 8) + 2)).write(to: URL(filePath: file))
            drawn.append(Drawn(text, code, isChosen: mask == nil, png: file))
        }
        try JSONEncoder().encode(drawn).write(to: URL(filePath: directory.file("codes.json")))
        try await PythonScript.qrReaders.run("codes", directory.file("codes.json"))
    }

    @Test("links of all kinds are read back, with every correction")
    func links() async throws {
        let links = [
            "https://go.example.com/dp9s9yqvnVt41VQG7", "https://go.example.com/y6N7", "HTTPS://GO.EXAMPLE.COM/ABC",
            "https://links.example.com/promo/i/8f3K", "A", "x", "https://go.example.com/?d=1&x=%F0%9F%98%80",
            "https://xn--bcher-kva.example/", "https://go.example.com/ünï😀",
            "https://go.example.com/?link=https%3A%2F%2Fa.example%2Fx&apn=com.example.app&ibi=com.example.app&isi=1234567890",
        ]
        try await judge(links.flatMap { link in QRCorrection.allCases.map { (link, $0, nil) } })
    }

    @Test("every mask is read back")
    func masks() async throws {
        try await judge(
            (0...7).flatMap { mask in QRCorrection.allCases.map { ("https://go.example.com/y6N7", $0, mask) } })
    }

    @Test("every version is read back, full to the last byte, its correction in turn", arguments: QRCorrection.allCases)
    func versions(correction: QRCorrection) async throws {
        let link = "https://go.example.com/?x="
        let all = QRVersion.all.filter { $0.number % 4 == correction.rawValue }
        try await judge(
            all.map { version in
                let bytes = version.dataCodewords(correction) - (version.number < 10 ? 2 : 3)
                let filling = (0..<max(0, bytes - link.count)).map { Character(UnicodeScalar(UInt8(97 + $0 * 7 % 26))) }
                return (String((link + filling).prefix(bytes)), correction, 3)
            })
    }
}
