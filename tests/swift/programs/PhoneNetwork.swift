import Foundation
import WalleRT

/// TLS by the stand-in.
struct PhoneStream: StreamTransport {
    let phone: Phone

    func connect(_ peer: StreamPeer) async throws -> any StreamConnection {
        PhoneConnection(
            socket: try await tls(
                phone, peer.host, peer.port, [peer.authorities, peer.certificate, peer.key]))
    }
}

struct PhoneConnection: StreamConnection {
    let socket: Socket

    func read(_ most: Int) async throws -> [UInt8] { try await apart { try socket.receive(most) } }

    func write(_ bytes: [UInt8]) async throws -> Int {
        try await apart { try socket.send(bytes) }
        return bytes.count
    }

    func cancel() { socket.cancel() }

    func close() { socket.cancel() }
}

private func tls(_ phone: Phone, _ host: String, _ port: Int, _ files: [String]) async throws -> Socket {
    try await apart {
        let words = ["tls", host, String(port)] + files
        return try phone.ask(words.map { [UInt8]($0.utf8) }).0
    }
}

/// HTTP over it: one request for each connection.
struct PhoneHttp: Transport {
    let phone: Phone
    /// "": the system's.
    let authority: String

    func get(
        _ url: String, start: Int, headers: [(name: String, value: String)], sink: BodySink
    ) async throws -> Int {
        let range = start > 0 ? [(name: "Range", value: "bytes=\(start)-")] : []
        return try await exchange("GET", url, headers + range, [], skip: start, sink)
    }

    func post(
        _ url: String, contentType: String, body: [UInt8], headers: [(name: String, value: String)],
        sink: BodySink
    ) async throws -> Int {
        let own = [("Content-Type", contentType), ("Content-Length", String(body.count))]
        return try await exchange("POST", url, headers + own, body, skip: 0, sink)
    }

    private func exchange(
        _ method: String, _ url: String, _ headers: [(name: String, value: String)], _ body: [UInt8],
        skip: Int, _ sink: BodySink
    ) async throws -> Int {
        guard let to = URLComponents(string: url), let host = to.host, let port = to.port else { return 0 }
        let path = to.path + (to.percentEncodedQuery.map { "?\($0)" } ?? "")
        let all = headers + [("Host", "\(host):\(port)"), ("Connection", "close")]
        let head = "\(method) \(path) HTTP/1.1\r\n" + all.map { "\($0.0): \($0.1)\r\n" }.joined() + "\r\n"
        let socket = try await tls(phone, host, port, [authority])
        let reply = try await apart {
            try socket.send([UInt8](head.utf8) + body)
            var reply: [UInt8] = []
            while true {
                let piece = try socket.receive(16_384)
                if piece.isEmpty { return Data(reply) }
                reply += piece
            }
        }
        guard let end = reply.range(of: Data("\r\n\r\n".utf8)) else { return 0 }
        let first = String(decoding: reply[..<end.lowerBound], as: UTF8.self).split(separator: " ")
        guard first.count > 1, let status = Int(first[1]) else { return 0 }
        let wanted = status / 100 == 2 || status == 429
        if wanted { sink.take([UInt8](reply[end.upperBound...].dropFirst(status == 200 ? skip : 0))) }
        return status
    }
}
