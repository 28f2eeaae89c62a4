/// Correction codewords over GF(2^8) with the polynomial x^8 + x^4 + x^3 + x^2 + 1, ISO/IEC 18004 §7.5.2.
struct ReedSolomon {
    /// The generator polynomial without its leading 1, the highest power first.
    private let generator: [UInt8]

    /// - Parameter count: correction codewords, at least 1.
    init(count: Int) {
        // (x - 1)(x - α)…(x - α^(count - 1)), α = 2; minus is plus here.
        var generator = [UInt8](repeating: 0, count: count - 1) + [1]
        var root: UInt8 = 1
        for _ in 0..<count {
            for index in 0..<count {
                generator[index] = Self.product(generator[index], root)
                if index + 1 < count { generator[index] ^= generator[index + 1] }
            }
            root = Self.product(root, 2)
        }
        self.generator = generator
    }

    /// The remainder of a division of the data by the generator polynomial.
    func correction(of data: some Sequence<UInt8>) -> [UInt8] {
        var remainder = [UInt8](repeating: 0, count: generator.count)
        for byte in data {
            let factor = byte ^ remainder[0]
            for index in 0..<remainder.count {
                let next = index + 1 < remainder.count ? remainder[index + 1] : 0
                remainder[index] = next ^ Self.product(generator[index], factor)
            }
        }
        return remainder
    }

    private static func product(_ left: UInt8, _ right: UInt8) -> UInt8 {
        guard left != 0, right != 0 else { return 0 }
        return powers[(logarithms[Int(left)] + logarithms[Int(right)]) % 255]
    }

    /// The powers of α.
    private static let powers: [UInt8] = {
        var powers: [UInt8] = [1]
        for _ in 1..<255 {
            let last = powers[powers.count - 1]
            // Doubled modulo the polynomial.
            powers.append(last << 1 ^ (last & 0x80 == 0 ? 0 : 0x1d))
        }
        return powers
    }()

    private static let logarithms: [Int] = {
        var logarithms = [Int](repeating: 0, count: 256)
        for (exponent, power) in powers.enumerated() { logarithms[Int(power)] = exponent }
        return logarithms
    }()
}
