import CWalle

/// The device's own key, which signs what it tells its server: ECDSA on P-256.
///
/// A key goes by its PEM (PKCS #8), which lies in the device's folder; TLS reads it there, too. Called from
/// the thread that connects and from one of the device's own. What they throw is an error of the connection.
public protocol Keys: Sendable {
    /// A new one.
    func make() throws -> String

    /// A certificate request (PKCS #10, PEM), signed by ECDSA with SHA-256; any name will do. See
    /// `certificateRequest`.
    func request(_ key: String) throws -> String

    /// Whether a certificate (PEM) is of the key.
    func isOf(_ key: String, _ certificate: String) throws -> Bool

    /// The signature of a message: ECDSA with SHA-256, DER.
    func sign(_ key: String, _ message: [UInt8]) throws -> [UInt8]
}

/// What C calls by number.
struct Signer: Sendable {
    let keys: any Keys
}

func keys(_ number: UInt) -> walle_keys_t {
    var out = walle_keys_t()
    out.struct_size = MemoryLayout.size(ofValue: out)
    out.user = Upcalls.user(number)
    out.make = { user, pem, size in
        written(to: pem, size) {
            try Upcalls.target(user, Signer.self).map { [UInt8](try $0.keys.make().utf8) }
        }
    }
    out.request = { user, key, pem, size in
        written(to: pem, size) {
            try Upcalls.target(user, Signer.self).map { [UInt8](try $0.keys.request(text(key)).utf8) }
        }
    }
    out.is_of = { user, key, certificate in
        let own = Upcalls.target(user, Signer.self)?.keys
        return (try? own?.isOf(text(key), text(certificate))) == true ? 1 : 0
    }
    out.sign = { user, key, message, count, signature, size in
        written(to: signature, size) {
            try Upcalls.target(user, Signer.self)?.keys.sign(text(key), bytes(message, count))
        }
    }
    return out
}

/// How many bytes were written; -1: there are none, or no room for them.
private func written(to: UnsafeMutableRawPointer?, _ room: Int, _ make: () throws -> [UInt8]?) -> Int64 {
    guard let made = try? make(), !made.isEmpty, made.count <= room else { return -1 }
    made.withUnsafeBytes { UnsafeMutableRawBufferPointer(start: to, count: room).copyMemory(from: $0) }
    return Int64(made.count)
}
