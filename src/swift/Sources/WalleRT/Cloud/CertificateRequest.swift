/// A certificate request (PKCS #10, PEM) for keys of an app's own; its name is "device", which the server
/// replaces.
///
/// - Parameters:
///   - publicKey: a point of P-256, not compressed: 65 bytes that begin with 4.
///   - sign: by ECDSA with SHA-256, DER.
/// - Throws: `WalleError` ARGUMENT: another form of key; what `sign` throws.
public func certificateRequest(
    publicKey: [UInt8], sign: ([UInt8]) throws -> [UInt8]
) throws -> String {
    guard publicKey.count == 65, publicKey.first == 4 else {
        throw WalleError.argument(
            "a public key of \(publicKey.count) bytes", "65 that begin with 4", "certificateRequest",
            "pass the point of P-256, not compressed")
    }
    let subject = Der.sequence(Der.set(Der.sequence(Der.commonName, Der.utf8("device"))))
    let info = Der.sequence(
        Der.zero, subject, Der.sequence(Der.p256, Der.bits(publicKey)), Der.element(0xA0))
    let signed = Der.sequence(info, Der.ecdsaSha256, Der.bits(try sign(info)))
    return Pem.text("CERTIFICATE REQUEST", signed)
}

/// As much of DER as requests need; lengths below 65,536.
private enum Der {
    static let zero = element(0x02, [0])
    static let commonName = element(0x06, [0x55, 0x04, 0x03])
    static let ecdsaSha256 = sequence(element(0x06, [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x04, 0x03, 0x02]))
    static let p256 = sequence(
        element(0x06, [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01]),
        element(0x06, [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07]))

    static func sequence(_ parts: [UInt8]...) -> [UInt8] { element(0x30, parts.flatMap { $0 }) }
    static func set(_ part: [UInt8]) -> [UInt8] { element(0x31, part) }
    static func bits(_ bytes: [UInt8]) -> [UInt8] { element(0x03, [0] + bytes) }
    static func utf8(_ text: String) -> [UInt8] { element(0x0C, [UInt8](text.utf8)) }

    static func element(_ tag: UInt8, _ contents: [UInt8] = []) -> [UInt8] {
        let size = contents.count
        let length: [UInt8] =
            switch size {
            case ..<0x80: [UInt8(size)]
            case ..<0x100: [0x81, UInt8(size)]
            default: [0x82, UInt8(size >> 8), UInt8(size & 0xFF)]
            }
        return [tag] + length + contents
    }
}
