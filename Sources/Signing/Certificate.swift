import COpenSSL

/// The only owner of an `X509`: made in `init`, freed in `deinit`; hence `@safe`. Used by one caller at a time.
@safe final class Certificate {
    /// More certificates than any chain has.
    static let chainLimit = 10

    /// Owned; non-null from `init` to `deinit`.
    private let pointer: OpaquePointer

    /// Takes over an `X509` that is freed here only.
    @unsafe init(owning pointer: OpaquePointer) {
        unsafe self.pointer = pointer
    }

    /// Reads one certificate in DER.
    convenience init(der: [UInt8]) throws(SigningError) {
        ErrorStack.clear()
        let read = unsafe der.withUnsafeBufferPointer { buffer -> OpaquePointer? in
            var cursor = buffer.baseAddress
            return unsafe d2i_X509(nil, &cursor, buffer.count)
        }
        guard let read = unsafe read else { throw libraryError("d2i_X509") }
        unsafe self.init(owning: read)
    }

    deinit {
        unsafe X509_free(pointer)
    }

    /// All certificates of a PEM text in their order; other blocks are passed over.
    ///
    /// - Throws: `.notACertificate` when there is none, or more than ``chainLimit``, or one is garbled.
    static func chain(pem: String) throws(SigningError) -> [Certificate] {
        ErrorStack.clear()
        let text = Array(pem.utf8)
        guard let length = Int32(exactly: text.count) else {
            throw SigningError(.notACertificate, "The text is too long for a certificate.")
        }
        var chain: [Certificate] = []
        unsafe text.withUnsafeBytes { bytes in
            // The BIO reads from `bytes` and is freed before they go.
            guard let source = unsafe BIO_new_mem_buf(bytes.baseAddress, length) else { return }
            defer { unsafe BIO_free(source) }
            while chain.count <= chainLimit, let read = unsafe PEM_read_bio_X509(source, nil, nil, nil) {
                unsafe chain.append(Certificate(owning: read))
            }
        }
        let codes = ErrorStack.drainCodes()
        guard chain.count <= chainLimit else {
            throw SigningError(.notACertificate, "There are more than \(chainLimit) certificates.")
        }
        guard codes.sayEndOfText else {
            throw SigningError(.notACertificate, "A certificate is not readable (\(codes.text)).")
        }
        guard !chain.isEmpty else { throw SigningError(.notACertificate, "There is no PEM certificate.") }
        return chain
    }

    /// Lends the `X509`.
    @unsafe func withPointer<Result>(_ body: (OpaquePointer) -> Result) -> Result {
        unsafe body(pointer)
    }

    /// The certificate in DER.
    func derBytes() throws(SigningError) -> [UInt8] {
        ErrorStack.clear()
        let length = unsafe i2d_X509(pointer, nil)
        guard length > 0 else { throw libraryError("i2d_X509") }
        var bytes = [UInt8](repeating: 0, count: Int(length))
        let written = unsafe bytes.withUnsafeMutableBufferPointer { buffer in
            var cursor = buffer.baseAddress
            return unsafe i2d_X509(pointer, &cursor)
        }
        guard written == length else { throw libraryError("i2d_X509") }
        return bytes
    }

    /// The SHA-256 digest of the DER form, 64 lower-case hexadecimal digits.
    func fingerprint() throws(SigningError) -> String {
        ErrorStack.clear()
        var digest = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        var length: UInt32 = 0
        guard unsafe X509_digest(pointer, EVP_sha256(), &digest, &length) == 1 else {
            throw libraryError("X509_digest")
        }
        let digits = Array("0123456789abcdef".utf8)
        let text = digest.prefix(Int(length)).flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 0xf)]] }
        return String(decoding: text, as: UTF8.self)
    }

    /// Since when it is valid, in seconds since 1970.
    func notBefore() throws(SigningError) -> Int64 {
        unsafe try Self.seconds(X509_get0_notBefore(pointer))
    }

    /// Until when it is valid, in seconds since 1970.
    func notAfter() throws(SigningError) -> Int64 {
        unsafe try Self.seconds(X509_get0_notAfter(pointer))
    }

    private static func seconds(_ time: UnsafePointer<ASN1_TIME>?) throws(SigningError) -> Int64 {
        ErrorStack.clear()
        guard let epoch = unsafe ASN1_TIME_set(nil, 0) else { throw libraryError("ASN1_TIME_set") }
        defer { unsafe ASN1_TIME_free(epoch) }
        var (days, seconds): (Int32, Int32) = (0, 0)
        guard unsafe ASN1_TIME_diff(&days, &seconds, epoch, time) == 1 else {
            ErrorStack.clear()
            throw SigningError(.notACertificate, "The certificate's dates are not readable.")
        }
        return Int64(days) * 86_400 + Int64(seconds)
    }

    /// The first entry of a kind in the subject, such as `NID_userId`.
    func subjectEntry(_ kind: Int32) -> String? {
        ErrorStack.clear()
        defer { ErrorStack.clear() }
        // get: all of these stay owned by the certificate.
        guard let subject = unsafe X509_get_subject_name(pointer) else { return nil }
        let index = unsafe X509_NAME_get_index_by_NID(subject, kind, -1)
        guard index >= 0, let entry = unsafe X509_NAME_get_entry(subject, index),
            let value = unsafe X509_NAME_ENTRY_get_data(entry)
        else { return nil }
        var converted: UnsafeMutablePointer<UInt8>?
        let length = unsafe ASN1_STRING_to_UTF8(&converted, value)
        guard length >= 0, let converted = unsafe converted else { return nil }
        defer { unsafe herald_OPENSSL_free(converted) }
        let bytes = unsafe Array(UnsafeBufferPointer(start: converted, count: Int(length)))
        return String(validating: bytes, as: UTF8.self)
    }

    /// The value of an extension, without the OCTET STRING around it; `nil`: it is not there.
    ///
    /// - Parameter identifier: in figures, such as `1.2.840.113635.100.6.3.6`.
    func extensionValue(_ identifier: String) -> [UInt8]? {
        ErrorStack.clear()
        defer { ErrorStack.clear() }
        guard let object = unsafe OBJ_txt2obj(identifier, 1) else { return nil }
        defer { unsafe ASN1_OBJECT_free(object) }
        let index = unsafe X509_get_ext_by_OBJ(pointer, object, -1)
        // get: both stay owned by the certificate.
        guard index >= 0, let found = unsafe X509_get_ext(pointer, index),
            let value = unsafe X509_EXTENSION_get_data(found)
        else { return nil }
        guard let start = unsafe ASN1_STRING_get0_data(value) else { return [] }
        return unsafe Array(UnsafeBufferPointer(start: start, count: Int(ASN1_STRING_length(value))))
    }
}
