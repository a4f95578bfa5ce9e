#if canImport(CryptoKit) && canImport(Security)
    import CryptoKit
    import Foundation
    import Security

    /// Keys by CryptoKit.
    public struct CryptoKeys: Keys {
        public init() {}

        public func make() throws -> String { P256.Signing.PrivateKey().pemRepresentation }

        public func request(_ key: String) throws -> String {
            let secret = try CryptoKeys.secret(key)
            return try certificateRequest(publicKey: [UInt8](secret.publicKey.x963Representation)) { info in
                [UInt8](try secret.signature(for: Data(info)).derRepresentation)
            }
        }

        public func isOf(_ key: String, _ certificate: String) throws -> Bool {
            let own = try CryptoKeys.secret(key).publicKey.x963Representation
            guard let der = Pem.blocks(certificate).first,
                let read = SecCertificateCreateWithData(nil, der as CFData),
                let shown = SecCertificateCopyKey(read)
            else { return false }
            return SecKeyCopyExternalRepresentation(shown, nil) as Data? == own
        }

        public func sign(_ key: String, _ message: [UInt8]) throws -> [UInt8] {
            [UInt8](try CryptoKeys.secret(key).signature(for: Data(message)).derRepresentation)
        }

        static func secret(_ key: String) throws -> P256.Signing.PrivateKey {
            try P256.Signing.PrivateKey(pemRepresentation: key)
        }
    }
#endif
