import CWalle

/// The other end of a stream, and what TLS believes and shows: paths of PEM files in the device's folder.
public struct StreamPeer: Sendable, Equatable {
    /// Whose name or address the peer's certificate must have.
    public let host: String
    public let port: Int

    /// Connect returns within it.
    public let timeout: Duration

    /// Who must have signed the peer's certificate: these and nobody else.
    public let authorities: String

    /// The device's own, with its key: the peer asks for them.
    public let certificate: String
    public let key: String
}

/// One connection. `read` and `write` come at the same time, one of each; both may wait as long as they like,
/// and must not block, as no asynchronous function must.
public protocol StreamConnection: Sendable {
    /// Waits for a byte at least and returns at most so many; none: the peer has closed.
    func read(_ most: Int) async throws -> [UInt8]

    /// Waits until a byte at least is taken and returns how many were.
    func write(_ bytes: [UInt8]) async throws -> Int

    /// From any thread: makes a read and a write under way, and later ones, return or throw soon.
    func cancel()

    /// Once, behind the last call.
    func close()
}

/// Connections over the app's own TLS 1.3, for the tunnel; there is one at a time.
public protocol StreamTransport: Sendable {
    /// What it throws is why there is no connection.
    func connect(_ peer: StreamPeer) async throws -> any StreamConnection

    /// From any thread: a connect under way ends soon. One that cannot do that runs into its timeout.
    func cancel()
}

extension StreamTransport {
    public func cancel() {}
}
