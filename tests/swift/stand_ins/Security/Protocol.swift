public final class OS_sec_identity: Sendable {}
public final class OS_sec_protocol_metadata: Sendable {}
public final class OS_sec_protocol_options: Sendable {
    public init() {}
}
public final class OS_sec_trust: Sendable {}
public typealias sec_identity_t = OS_sec_identity
public typealias sec_protocol_metadata_t = OS_sec_protocol_metadata
public typealias sec_protocol_options_t = OS_sec_protocol_options
public typealias sec_trust_t = OS_sec_trust
public typealias sec_protocol_verify_complete_t = (Bool) -> Void
public typealias sec_protocol_verify_t =
    (sec_protocol_metadata_t, sec_trust_t, @escaping sec_protocol_verify_complete_t) -> Void

public enum tls_protocol_version_t { case TLSv13 }

public func sec_identity_create(_: SecIdentity) -> sec_identity_t? { nil }
public func sec_protocol_options_set_local_identity(_: sec_protocol_options_t, _: sec_identity_t) {}
public func sec_protocol_options_set_min_tls_protocol_version(
    _: sec_protocol_options_t, _: tls_protocol_version_t
) {}
public func sec_protocol_options_set_tls_server_name(_: sec_protocol_options_t, _: UnsafePointer<CChar>) {}
public func sec_protocol_options_set_verify_block(
    _: sec_protocol_options_t, _: @escaping sec_protocol_verify_t, _: DispatchQueue
) {}
public func sec_trust_copy_ref(_: sec_trust_t) -> Unmanaged<SecTrust> { .passRetained(SecTrust()) }

extension URLProtectionSpace {
    public var serverTrust: SecTrust? { nil }
}

extension URLCredential {
    public convenience init(trust: SecTrust) { fatalError("a stand-in for \(trust)") }
}
