extension QRCode {
    /// A PNG of two colours: every module has the same whole number of pixels, what is left over widens the quiet zone.
    ///
    /// - Parameter pixels: width and height, at most 8192; a picture that would be too small for one pixel a module and
    ///   the quiet zone of four modules gets that size instead.
    package func png(pixels: Int) -> [UInt8] {
        let side = min(max(pixels, size + 8), 8192)
        let scale = side / (size + 8)
        let margin = (side - scale * size) / 2
        let blank = PNGImage.row(width: side) { _ in false }
        var rows: [[UInt8]] = Array(repeating: blank, count: margin)
        for y in 0..<size {
            let row = PNGImage.row(width: side) { $0 >= margin && self[($0 - margin) / scale, y] }
            rows += Array(repeating: row, count: scale)
        }
        rows += Array(repeating: blank, count: side - rows.count)
        return PNGImage.encode(width: side, rows: rows)
    }
}
