import Hummingbird
import HummingbirdCore

extension LinkResponder {
    /// The QR code of a short link: `size` in pixels, 64 to 2048, `ecc` one of L, M, Q and H, `format` svg or png.
    func picture(of link: OpenedLink, _ visit: LinkVisit) -> Response {
        guard let size = Int(visit.parameter("size") ?? "512"), (64...2048).contains(size) else {
            return .page(pages.badLink("The size of its QR code is 64 to 2048."))
        }
        guard let correction = QRCorrection(letter: visit.parameter("ecc") ?? "M") else {
            return .page(pages.badLink("The error correction of its QR code is L, M, Q or H."))
        }
        let code: QRCode
        do throws(QRError) {
            code = try QRCode(link.url, correction: correction)
        } catch {
            return .page(pages.badLink("It does not fit into a QR code."))
        }
        switch visit.parameter("format") ?? "svg" {
        case "svg": return .picture(Array(code.svg(pixels: size).utf8), "image/svg+xml")
        case "png": return .picture(code.png(pixels: size), "image/png")
        default: return .page(pages.badLink("The format of its QR code is svg or png."))
        }
    }
}
