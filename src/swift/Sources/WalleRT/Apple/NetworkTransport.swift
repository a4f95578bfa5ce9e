#if canImport(Network) && canImport(Security)
    import Dispatch
    import Foundation
    import Network
    import Security

    /// TLS 1.3 by Network.framework.
    public final class NetworkTransport: StreamTransport {
        private let opening = Lock<NWConnection?>(nil)

        public init() {}

        public func connect(_ peer: StreamPeer) async throws -> any StreamConnection {
            guard let port = NWEndpoint.Port(rawValue: UInt16(clamping: peer.port)) else {
                throw WalleError.argument(
                    "port \(peer.port)", "one from 1 on", "NetworkTransport", "check the broker's address")
            }
            let made = NWConnection(host: NWEndpoint.Host(peer.host), port: port, using: try parameters(peer))
            opening.with { $0 = made }
            defer { opening.with { $0 = nil } }
            do {
                try await ready(made, peer.timeout)
            } catch {
                made.cancel()
                throw error
            }
            return NetworkConnection(made)
        }

        public func cancel() { opening.with { $0 }?.cancel() }

        private func parameters(_ peer: StreamPeer) throws -> NWParameters {
            let options = NWProtocolTLS.Options()
            let security = options.securityProtocolOptions
            sec_protocol_options_set_min_tls_protocol_version(security, .TLSv13)
            sec_protocol_options_set_tls_server_name(security, peer.host)
            let own = try Trust.identity(certificate: peer.certificate, key: peer.key)
            if let shown = sec_identity_create(own) {
                sec_protocol_options_set_local_identity(security, shown)
            }
            let believes: sec_protocol_verify_t = { _, shown, answer in
                let trust = sec_trust_copy_ref(shown).takeRetainedValue()
                SecTrustSetPolicies(trust, SecPolicyCreateSSL(true, peer.host as CFString))
                answer(Trust.believes(trust, peer.authorities))
            }
            sec_protocol_options_set_verify_block(security, believes, .global())
            return NWParameters(tls: options)
        }

        private func ready(_ connection: NWConnection, _ timeout: Duration) async throws {
            let queue = DispatchQueue(label: "walle_rt.tunnel")
            let late = DispatchTime.now() + .milliseconds(Int(milliseconds(timeout)))
            queue.asyncAfter(deadline: late) { [weak connection] in
                if connection?.state != .ready { connection?.cancel() }
            }
            let waiting = Lock<CheckedContinuation<Void, any Error>?>(nil)
            try await withCheckedThrowingContinuation { done in
                waiting.with { $0 = done }
                connection.stateUpdateHandler = { state in
                    let result: Result<Void, any Error>
                    switch state {
                    case .ready: result = .success(())
                    // It would try again by itself, and the device does so, too.
                    case .failed(let error), .waiting(let error): result = .failure(error)
                    case .cancelled: result = .failure(CancellationError())
                    default: return
                    }
                    let once = waiting.with { waiting in
                        defer { waiting = nil }
                        return waiting
                    }
                    once?.resume(with: result)
                }
                connection.start(queue: queue)
            }
        }
    }

    private final class NetworkConnection: StreamConnection {
        private let connection: NWConnection

        init(_ connection: NWConnection) {
            self.connection = connection
        }

        func read(_ most: Int) async throws -> [UInt8] {
            try await withCheckedThrowingContinuation { done in
                connection.receive(minimumIncompleteLength: 1, maximumLength: most) { data, _, _, error in
                    if let data, !data.isEmpty {
                        done.resume(returning: [UInt8](data))
                    } else if let error {
                        done.resume(throwing: error)
                    } else {
                        done.resume(returning: [])
                    }
                }
            }
        }

        func write(_ bytes: [UInt8]) async throws -> Int {
            try await withCheckedThrowingContinuation { done in
                connection.send(
                    content: Data(bytes),
                    completion: .contentProcessed { error in
                        done.resume(with: error.map { .failure($0) } ?? .success(bytes.count))
                    })
            }
        }

        func cancel() { connection.cancel() }

        func close() { connection.cancel() }
    }
#endif
