#if canImport(Security)
    import Foundation
    import Security

    /// What TLS believes and shows, from PEM files.
    enum Trust {
        /// Whether these authorities, and nobody else, vouch for what the peer shows under the name that the
        /// policy of `trust` has.
        static func believes(_ trust: SecTrust, _ authorities: String) -> Bool {
            guard let anchors = try? certificates(authorities), !anchors.isEmpty else { return false }
            SecTrustSetAnchorCertificates(trust, anchors as CFArray)
            SecTrustSetAnchorCertificatesOnly(trust, true)
            return SecTrustEvaluateWithError(trust, nil)
        }

        static func certificates(_ file: String) throws -> [SecCertificate] {
            Pem.blocks(try String(contentsOfFile: file, encoding: .utf8)).compactMap {
                SecCertificateCreateWithData(nil, $0 as CFData)
            }
        }

        /// The device's certificate with its key. The keychain alone joins the two: they lie there under a
        /// name of ours, and the newest replaces what was there.
        static func identity(certificate: String, key: String) throws -> SecIdentity {
            guard let own = try certificates(certificate).first else {
                throw failure(errSecDecode, "a certificate in \(certificate)")
            }
            let secret = try CryptoKeys.secret(String(contentsOfFile: key, encoding: .utf8))
            let kept: [CFString: Any] = [
                kSecAttrKeyType: kSecAttrKeyTypeECSECPrimeRandom, kSecAttrKeyClass: kSecAttrKeyClassPrivate,
            ]
            let data = secret.x963Representation as CFData
            guard let made = SecKeyCreateWithData(data, kept as CFDictionary, nil) else {
                throw failure(errSecDecode, "a key in \(key)")
            }
            let label = "walle_rt device"
            let place = [kSecAttrAccessible: kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly as Any]
            for (kind, item) in [(kSecClassKey, made as Any), (kSecClassCertificate, own as Any)] {
                let named: [CFString: Any] = [kSecClass: kind, kSecAttrLabel: label]
                SecItemDelete(named as CFDictionary)
                let added: [CFString: Any] = [kSecAttrLabel: label, kSecValueRef: item]
                let status = SecItemAdd(added.merging(place) { first, _ in first } as CFDictionary, nil)
                guard status == errSecSuccess || status == errSecDuplicateItem else {
                    throw failure(status, "an entry of the keychain")
                }
            }
            var found: CFTypeRef?
            let wanted: [CFString: Any] = [
                kSecClass: kSecClassIdentity, kSecAttrLabel: label, kSecReturnRef: true,
            ]
            let status = SecItemCopyMatching(wanted as CFDictionary, &found)
            guard status == errSecSuccess, let found else { throw failure(status, "the device's identity") }
            // A query of this class gives nothing else.
            return found as! SecIdentity
        }

        private static func failure(_ status: OSStatus, _ what: String) -> WalleError {
            WalleError.composed(
                .network, "\(what): status \(status)", "one that the keychain takes", "NetworkTransport",
                "see SecCopyErrorMessageString")
        }
    }
#endif
