import Foundation
import WalleRT

/// Keys of an app's own: what lies in the folder when it ends, others read.
struct KeysTests {
    let phone: Phone
    let folder: String

    func run() async throws {
        let keys = PhoneKeys(phone: phone)
        let key = try keys.make()
        promise(try key != keys.make(), "every key is another one")
        try write("key.pem", [UInt8](key.utf8))
        try write("request.pem", [UInt8](keys.request(key).utf8))
        try write("signature", keys.sign(key, [UInt8]("a message".utf8)))
        // Of OpenSSL, as a device has it that enrolled on a desktop.
        let other = try read("other.pem")
        let certificate = try read("certificate.pem")
        promise(try keys.isOf(other, certificate), "a certificate is of its key")
        promise(try !keys.isOf(key, certificate), "and of no other")
        try write("other-request.pem", [UInt8](keys.request(other).utf8))
        await refused(.argument, "65", "a request is of a point of P-256") {
            try certificateRequest(publicKey: [4, 5, 6]) { $0 }
        }
        do {
            _ = try certificateRequest(publicKey: [4] + [UInt8](repeating: 1, count: 64)) { _ in
                throw PhoneError("no")
            }
            promise(false, "and needs a signature")
        } catch {
            promise(error is PhoneError, "and needs a signature")
        }
    }

    private func write(_ name: String, _ bytes: [UInt8]) throws {
        try Data(bytes).write(to: URL(fileURLWithPath: "\(folder)/\(name)"))
    }

    private func read(_ name: String) throws -> String {
        try String(contentsOf: URL(fileURLWithPath: "\(folder)/\(name)"), encoding: .utf8)
    }
}
