import CWalle

/// What carries a device's requests and its tunnel, and its keys, for C while the device is connected. What
/// the app does not bring is the platform's; where that has none, libwalle's own. Whoever holds it keeps
/// them.
final class Connection: Sendable {
    private let http: UInt
    private let tunnel: UInt
    private let own: UInt

    init(
        _ device: UInt, _ transport: (any Transport)?, _ stream: (any StreamTransport)?, _ keys: (any Keys)?
    ) {
        let transport = transport ?? Platform.transport()
        let stream = stream ?? Platform.stream()
        let keys = keys ?? Platform.keys()
        http = transport.map { Upcalls.keep(Carrier(device: device, transport: $0)) } ?? 0
        tunnel = stream.map { Upcalls.keep(Tunnel(device: device, transport: $0)) } ?? 0
        own = keys.map { Upcalls.keep(Signer(keys: $0)) } ?? 0
    }

    func fill(_ options: inout walle_cloud_options_t, _ arena: Arena) {
        if http != 0 {
            options.http = onHttp
            options.http_user = Upcalls.user(http)
        }
        if tunnel != 0 { options.stream = UnsafePointer(arena.array([stream(tunnel)])) }
        if own != 0 { options.keys = UnsafePointer(arena.array([keys(own)])) }
    }

    deinit {
        for number in [http, tunnel, own] { Upcalls.drop(number) }
    }
}

/// What systems have.
enum Platform {
    static func transport() -> (any Transport)? {
        #if canImport(Security)
            URLTransport()
        #else
            nil
        #endif
    }

    static func stream() -> (any StreamTransport)? {
        #if canImport(Network) && canImport(Security)
            NetworkTransport()
        #else
            nil
        #endif
    }

    static func keys() -> (any Keys)? {
        #if canImport(CryptoKit) && canImport(Security)
            CryptoKeys()
        #else
            nil
        #endif
    }
}
