import WalleRT

/// The app's own HTTP, which counts, and can have no network.
final class Counting: Transport {
    struct Seen: Sendable {
        var down = false
        var gets = 0
        var posts = 0
        var late: BodySink?
    }

    let by: PhoneHttp
    let seen = Shared(Seen())
    /// Of a POST: called before it.
    let hold: @Sendable () async throws -> Void

    init(_ by: PhoneHttp, hold: @escaping @Sendable () async throws -> Void = {}) {
        self.by = by
        self.hold = hold
    }

    func get(
        _ url: String, start: Int, headers: [(name: String, value: String)], sink: BodySink
    ) async throws -> Int {
        seen.change { seen in
            seen.gets += 1
            seen.late = sink
        }
        guard !seen.now.down else { throw PhoneError("no network") }
        return try await by.get(url, start: start, headers: headers, sink: sink)
    }

    func post(
        _ url: String, contentType: String, body: [UInt8], headers: [(name: String, value: String)],
        sink: BodySink
    ) async throws -> Int {
        seen.change { $0.posts += 1 }
        guard !seen.now.down else { return 0 }
        try await hold()
        return try await by.post(url, contentType: contentType, body: body, headers: headers, sink: sink)
    }
}

/// The app's own TLS, which can refuse.
final class Refusing: StreamTransport {
    struct Seen: Sendable {
        var refuses = true
        var peers: Set<String> = []
        var closed = 0
    }

    let by: PhoneStream
    let seen = Shared(Seen())

    init(_ by: PhoneStream) {
        self.by = by
    }

    func connect(_ peer: StreamPeer) async throws -> any StreamConnection {
        seen.change { $0.peers.insert(peer.host) }
        guard !seen.now.refuses else { throw PhoneError("the platform says no to \(peer.host)") }
        return Closing(by: try await by.connect(peer), seen: seen)
    }
}

private struct Closing: StreamConnection {
    let by: any StreamConnection
    let seen: Shared<Refusing.Seen>

    func read(_ most: Int) async throws -> [UInt8] { try await by.read(most) }
    func write(_ bytes: [UInt8]) async throws -> Int { try await by.write(bytes) }
    func cancel() { by.cancel() }
    func close() {
        seen.change { $0.closed += 1 }
        by.close()
    }
}

/// Keys of a phone that is locked, say.
struct NoKeys: Keys {
    func make() throws -> String { throw PhoneError("the keys are locked") }
    func request(_: String) throws -> String { throw PhoneError("the keys are locked") }
    func isOf(_: String, _: String) throws -> Bool { throw PhoneError("the keys are locked") }
    func sign(_: String, _: [UInt8]) throws -> [UInt8] { throw PhoneError("the keys are locked") }
}
