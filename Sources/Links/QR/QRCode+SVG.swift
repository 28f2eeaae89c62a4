extension QRCode {
    /// A picture of one path that stays sharp at any size.
    ///
    /// - Parameters:
    ///   - pixels: its width and height.
    ///   - quietZone: light modules around it; the standard wants four (ISO/IEC 18004 §6.3.8).
    package func svg(pixels: Int, quietZone: Int = 4) -> String {
        let side = size + 2 * quietZone
        var path = ""
        for y in 0..<size {
            var x = 0
            while x < size {
                let start = x
                while x < size, self[x, y] { x += 1 }
                if x > start { path += "M\(start + quietZone) \(y + quietZone)h\(x - start)v1h-\(x - start)z" }
                while x < size, !self[x, y] { x += 1 }
            }
        }
        return """
            <svg xmlns="http://www.w3.org/2000/svg" width="\(pixels)" height="\(pixels)" viewBox="0 0 \(side) \(side)" \
            shape-rendering="crispEdges"><path fill="#fff" d="M0 0h\(side)v\(side)h-\(side)z"/>\
            <path d="\(path)"/></svg>
            """
    }
}
