import Testing

@testable import Links

struct QRCodeTests {
    @Test("format information is that of Annex C's example")
    func format() {
        #expect(QRMatrix.format(.medium, mask: 5) == 0b100_0000_1100_1110)
    }

    @Test("version information is that of Annex D's example")
    func version() {
        #expect(QRMatrix.version(QRVersion(number: 7)) == 0b00_0111_1100_1001_0100)
    }

    @Test("correction codewords are those of Annex I's example")
    func correction() {
        let data: [UInt8] = [
            0x10, 0x20, 0x0c, 0x56, 0x61, 0x80, 0xec, 0x11, 0xec, 0x11, 0xec, 0x11, 0xec, 0x11, 0xec, 0x11,
        ]
        let expected: [UInt8] = [0xa5, 0x24, 0xd4, 0xc1, 0xed, 0x36, 0xc7, 0x87, 0x2c, 0x55]
        #expect(ReedSolomon(count: 10).correction(of: data) == expected)
    }

    @Test("alphanumeric text is encoded as in the example of §7.4.4, then padded")
    func alphanumeric() {
        let bits = QRBits("AC-42")
        #expect(bits.mode == .alphanumeric)
        #expect(bits.count(QRVersion(number: 1)) == 41)
        #expect(
            bits.codewords(QRVersion(number: 1), capacity: 9) == [
                0x20, 0x29, 0xce, 0xe7, 0x21, 0x00, 0xec, 0x11, 0xec,
            ])
    }

    @Test("a lower-case letter makes it bytes, in UTF-8")
    func bytes() {
        let bits = QRBits("é")
        #expect(bits.mode == .bytes)
        #expect(bits.codewords(QRVersion(number: 1), capacity: 5) == [0x40, 0x2c, 0x3a, 0x90, 0xec])
    }

    @Test("data codewords are those of Table 7")
    func capacity() {
        let expected = [
            1: [19, 16, 13, 9], 2: [34, 28, 22, 16], 7: [156, 124, 88, 66], 14: [461, 365, 261, 197],
            21: [932, 714, 512, 406], 27: [1468, 1128, 808, 628], 40: [2956, 2334, 1666, 1276],
        ]
        for (number, counts) in expected {
            #expect(QRCorrection.allCases.map { QRVersion(number: number).dataCodewords($0) } == counts)
        }
    }

    @Test("alignment patterns are where Annex E has them")
    func alignments() {
        let expected = [
            1: [], 2: [6, 18], 6: [6, 34], 7: [6, 22, 38], 14: [6, 26, 46, 66], 32: [6, 34, 60, 86, 112, 138],
            36: [6, 24, 50, 76, 102, 128, 154], 39: [6, 26, 54, 82, 110, 138, 166],
            40: [6, 30, 58, 86, 114, 142, 170],
        ]
        for (number, centres) in expected { #expect(QRVersion(number: number).alignments == centres) }
    }

    @Test(
        "the longest text fits into version 40, one byte more is refused",
        arguments: [(QRCorrection.low, 2953), (.medium, 2331), (.quartile, 1663), (.high, 1273)])
    func longest(correction: QRCorrection, bytes: Int) throws {
        let text = String(repeating: "x", count: bytes)
        #expect(try QRCode(text, correction: correction, mask: 0).version == 40)
        #expect(throws: QRError(bytes: bytes + 1, correction: correction)) {
            try QRCode(text + "x", correction: correction)
        }
    }

    @Test("the smallest version is taken: 17 bytes fit into version 1 with low correction, 18 don't")
    func smallest() throws {
        #expect(try QRCode(String(repeating: "x", count: 17), correction: .low).size == 21)
        #expect(try QRCode(String(repeating: "x", count: 18), correction: .low).size == 25)
        #expect(try QRCode("", correction: .high).version == 1)
    }

    @Test("the mask has the least penalty of the eight")
    func mask() throws {
        let text = "https://go.example.com/dp9s9yqvnVt41VQG7"
        let chosen = try QRCode(text).mask
        let version = QRVersion(number: try QRCode(text).version)
        let data = QRBits(text).codewords(version, capacity: version.dataCodewords(.medium))
        let matrix = QRMatrix(version, codewords: QRCode.corrected(data, version, .medium))
        let penalties = (0...7).map { matrix.masked($0, .medium).penalty }
        #expect(penalties[chosen] == penalties.min())
        #expect(Set(penalties).count > 1)
    }

    @Test("a correction is read from its letter")
    func letters() {
        #expect(["L", "m", "Q", "h"].map { QRCorrection(letter: $0) } == QRCorrection.allCases)
        #expect(QRCorrection(letter: "x") == nil && QRCorrection(letter: "") == nil)
    }

    @Test("outside of the code is light")
    func quietZone() throws {
        let code = try QRCode("x")
        #expect(code[0, 0] && code[20, 0] && !code[-1, 0] && !code[21, 0] && !code[0, 21])
    }
}

struct QRPictureTests {
    @Test("checksums are those of their specifications")
    func checksums() {
        #expect(PNGImage.crc32(Array("123456789".utf8)) == 0xcbf4_3926)
        #expect(PNGImage.adler32(Array("Wikipedia".utf8)) == 0x11e6_0398)
    }

    @Test(
        "a PNG has the size that was asked for, and one that its modules fit into", arguments: [1, 29, 100, 512, 9999])
    func size(pixels: Int) throws {
        let png = try QRCode("x").png(pixels: pixels)
        let width = png[16..<20].reduce(0) { $0 << 8 | Int($1) }
        #expect(width == min(max(pixels, 29), 8192))
        #expect(png[20..<24].elementsEqual(png[16..<20]))
    }

    @Test("a PNG of 1024 pixels stays under 8 KiB")
    func bytes() throws {
        let png = try QRCode("https://go.example.com/dp9s9yqvnVt41VQG7", correction: .high).png(pixels: 1024)
        #expect(png.count < 8192, "\(png.count) bytes")
    }

    @Test("an SVG has the quiet zone in its view box, the pixels in its size, and no text of its user")
    func svg() throws {
        let svg = try QRCode("<script>").svg(pixels: 300)
        #expect(
            svg.hasPrefix(#"<svg xmlns="http://www.w3.org/2000/svg" width="300" height="300" viewBox="0 0 29 29" "#))
        #expect(svg.contains(#"shape-rendering="crispEdges""#) && !svg.contains("script"))
        #expect(svg.contains(#"d="M4 4h7v1h-7z"#))
        #expect(try QRCode("x").svg(pixels: 10, quietZone: 0).contains(#"d="M0 0h7v1h-7z"#))
    }
}
