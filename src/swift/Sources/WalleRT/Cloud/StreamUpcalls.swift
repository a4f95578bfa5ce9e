import CWalle

/// What C calls by number: the app's transport, and each of its connections.
struct Tunnel: Sendable {
    let device: UInt
    let transport: any StreamTransport
}

private struct Link: Sendable {
    let device: UInt
    let connection: any StreamConnection
}

// More than a record of TLS is never there at once.
private let piece = 16_384

func stream(_ number: UInt) -> walle_stream_t {
    var out = walle_stream_t()
    out.struct_size = MemoryLayout.size(ofValue: out)
    out.user = Upcalls.user(number)
    out.connect = onConnect
    out.read = onRead
    out.write = onWrite
    out.cancel = onCancel
    out.close = onClose
    return out
}

private func onConnect(
    _ user: UnsafeMutableRawPointer?, _ peer: UnsafePointer<walle_stream_peer_t>?,
    _ why: UnsafeMutablePointer<CChar>?, _ room: Int
) -> UnsafeMutableRawPointer? {
    guard let tunnel = Upcalls.target(user, Tunnel.self), let peer = peer?.pointee else { return nil }
    let to = StreamPeer(
        host: text(peer.host), port: Int(peer.port), timeout: .milliseconds(peer.timeout_ms),
        authorities: text(peer.authorities), certificate: text(peer.certificate), key: text(peer.key))
    switch awaited(tunnel.device, { try await tunnel.transport.connect(to) }) {
    case .success(let made):
        return Upcalls.user(Upcalls.keep(Link(device: tunnel.device, connection: made)))
    case .failure(let error):
        copy("\(error)", to: why, room)
        return nil
    }
}

private func onRead(
    _: UnsafeMutableRawPointer?, _ connection: UnsafeMutableRawPointer?, _ to: UnsafeMutableRawPointer?,
    _ size: Int
) -> Int64 {
    let most = min(size, piece)
    guard let link = Upcalls.target(connection, Link.self),
        let read = try? awaited(link.device, { try await link.connection.read(most) }).get(),
        read.count <= most
    else { return -1 }
    read.withUnsafeBytes { UnsafeMutableRawBufferPointer(start: to, count: most).copyMemory(from: $0) }
    return Int64(read.count)
}

private func onWrite(
    _: UnsafeMutableRawPointer?, _ connection: UnsafeMutableRawPointer?, _ from: UnsafeRawPointer?,
    _ size: Int
) -> Int64 {
    let given = bytes(from, min(size, piece))
    guard let link = Upcalls.target(connection, Link.self),
        let taken = try? awaited(link.device, { try await link.connection.write(given) }).get(),
        taken <= given.count
    else { return -1 }
    return Int64(taken)
}

private func onCancel(_ user: UnsafeMutableRawPointer?, _ connection: UnsafeMutableRawPointer?) {
    guard connection != nil else {
        Upcalls.target(user, Tunnel.self)?.transport.cancel()
        return
    }
    Upcalls.target(connection, Link.self)?.connection.cancel()
}

private func onClose(_: UnsafeMutableRawPointer?, _ connection: UnsafeMutableRawPointer?) {
    (Upcalls.drop(Upcalls.number(connection)) as? Link)?.connection.close()
}

/// Cut to fit, with a zero behind it.
private func copy(_ message: String, to: UnsafeMutablePointer<CChar>?, _ room: Int) {
    guard let to, room > 0 else { return }
    let cut = Array(message.utf8.prefix(room - 1)) + [0]
    for (at, byte) in cut.enumerated() { to[at] = CChar(bitPattern: byte) }
}
