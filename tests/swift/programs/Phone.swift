import Foundation
import WalleRT

/// What a phone's system has and this one has not: TLS and keys, which tests/swift/phone.py lends over a
/// socket. Each connection asks for one thing, in a line of words in base64.
struct Phone: Sendable {
    let port: Int

    func ask(_ words: [[UInt8]]) throws -> (Socket, [UInt8]) {
        let socket = try Socket(port: port)
        let line = words.map { Data($0).base64EncodedString() }.joined(separator: " ") + "\n"
        try socket.send([UInt8](line.utf8))
        let said = try socket.line().split(separator: " ", omittingEmptySubsequences: false)
        let answer = Data(base64Encoded: String(said.last ?? "")).map { [UInt8]($0) } ?? []
        guard said.first == "yes" else { throw PhoneError(String(decoding: answer, as: UTF8.self)) }
        return (socket, answer)
    }

    func ask(_ words: String...) throws -> (Socket, [UInt8]) { try ask(words.map { [UInt8]($0.utf8) }) }
}

struct PhoneError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}

/// A connection to this machine, which blocks.
final class Socket: Sendable {
    private let file: Int32

    init(port: Int) throws {
        file = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var to = sockaddr_in()
        to.sin_family = sa_family_t(AF_INET)
        to.sin_port = in_port_t(port).bigEndian
        to.sin_addr.s_addr = inet_addr("127.0.0.1")
        let size = socklen_t(MemoryLayout.size(ofValue: to))
        let there = withUnsafePointer(to: &to) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { Glibc.connect(file, $0, size) }
        }
        guard file >= 0, there == 0 else { throw PhoneError("no stand-in at port \(port)") }
    }

    deinit { close(file) }

    func send(_ bytes: [UInt8]) throws {
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes {
                Glibc.send(file, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { throw PhoneError("the connection is broken") }
            sent += count
        }
    }

    /// None: the other end has closed.
    func receive(_ most: Int) throws -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: most)
        let count = recv(file, &bytes, most, 0)
        guard count >= 0 else { throw PhoneError("the connection is broken") }
        return Array(bytes.prefix(count))
    }

    func line() throws -> String {
        var line: [UInt8] = []
        while let byte = try receive(1).first, byte != UInt8(ascii: "\n") { line.append(byte) }
        return String(decoding: line, as: UTF8.self)
    }

    /// Whoever reads or writes returns.
    func cancel() { shutdown(file, Int32(SHUT_RDWR)) }
}

/// The device's key by the stand-in, but for requests, which the library writes.
struct PhoneKeys: Keys {
    let phone: Phone

    func make() throws -> String { String(decoding: try phone.ask("make").1, as: UTF8.self) }

    func request(_ key: String) throws -> String {
        try certificateRequest(publicKey: phone.ask("point", key).1) { try sign(key, $0) }
    }

    func isOf(_ key: String, _ certificate: String) throws -> Bool {
        try phone.ask("is_of", key, certificate).1 == [1]
    }

    func sign(_ key: String, _ message: [UInt8]) throws -> [UInt8] {
        try phone.ask([[UInt8]("sign".utf8), [UInt8](key.utf8), message]).1
    }
}
