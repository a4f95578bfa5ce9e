// The little of Security that src/swift uses, so that its sources are compiled here: what it takes and gives,
// and nothing of what it does. CoreFoundation's types are Swift's own, to which they are bridged.
@_exported import Dispatch
@_exported import Foundation
@_exported import FoundationNetworking

public typealias CFArray = [Any]
public typealias CFData = Data
public typealias CFDictionary = [String: Any]
public typealias CFString = String
public typealias CFTypeRef = AnyObject
public typealias OSStatus = Int32

public final class SecCertificate: Sendable {}
public final class SecIdentity: Sendable {}
public final class SecKey: Sendable {}
public final class SecPolicy: Sendable {}
public final class SecTrust: Sendable {}
public typealias CFError = NSError

public let errSecSuccess: OSStatus = 0
public let errSecDuplicateItem: OSStatus = -25299
public let errSecDecode: OSStatus = -26275
public let kSecAttrAccessible = "pdmn"
public let kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly = "cku"
public let kSecAttrKeyClass = "kcls"
public let kSecAttrKeyClassPrivate = "1"
public let kSecAttrKeyType = "type"
public let kSecAttrKeyTypeECSECPrimeRandom = "73"
public let kSecAttrLabel = "labl"
public let kSecClass = "class"
public let kSecClassCertificate = "cert"
public let kSecClassIdentity = "idnt"
public let kSecClassKey = "keys"
public let kSecReturnRef = "r_Ref"
public let kSecValueRef = "v_Ref"

public func SecCertificateCreateWithData(_: Any?, _: CFData) -> SecCertificate? { nil }
public func SecCertificateCopyKey(_: SecCertificate) -> SecKey? { nil }
public func SecKeyCopyExternalRepresentation(
    _: SecKey, _: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> CFData? { nil }
public func SecKeyCreateWithData(
    _: CFData, _: CFDictionary, _: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> SecKey? { nil }
public func SecPolicyCreateSSL(_: Bool, _: CFString?) -> SecPolicy { SecPolicy() }
@discardableResult
public func SecTrustSetPolicies(_: SecTrust, _: CFTypeRef) -> OSStatus { errSecSuccess }
@discardableResult
public func SecTrustSetAnchorCertificates(_: SecTrust, _: CFArray?) -> OSStatus { errSecSuccess }
@discardableResult
public func SecTrustSetAnchorCertificatesOnly(_: SecTrust, _: Bool) -> OSStatus { errSecSuccess }
public func SecTrustEvaluateWithError(_: SecTrust, _: UnsafeMutablePointer<CFError?>?) -> Bool { false }
@discardableResult
public func SecItemAdd(_: CFDictionary, _: UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus { errSecSuccess }
@discardableResult
public func SecItemDelete(_: CFDictionary) -> OSStatus { errSecSuccess }
public func SecItemCopyMatching(_: CFDictionary, _: UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus {
    errSecSuccess
}
