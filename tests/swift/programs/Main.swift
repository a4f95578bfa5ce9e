import Foundation

/// `models FOLDER`, `values FOLDER BUNDLE`, `keys PORT FOLDER`, `device FOLDER BUNDLE NEWER` or
/// `cloud PORT FOLDER URL AUTHORITY CODE CODE`, and beside stand-ins of Apple's modules `url PORT FOLDER URL
/// CODE`; PORT is where the platform's stand-in listens (phone.py).
@main
struct Main {
    static func main() async throws {
        let words = CommandLine.arguments.dropFirst()
        let rest = Array(words.dropFirst())
        switch words.first {
        case "models": try await ModelTests(folder: rest[0]).run()
        case "values": try await ValueTests(folder: rest[0], bundle: rest[1]).run()
        case "device": try await DeviceTests(folder: rest[0], bundle: rest[1], newer: rest[2]).run()
        case "keys": try await KeysTests(phone: Phone(port: Int(rest[0])!), folder: rest[1]).run()
        case "cloud":
            let phone = Phone(port: Int(rest[0])!)
            try await CloudTests(
                phone: phone, folder: rest[1], url: rest[2], authority: rest[3], code: rest[4],
                another: rest[5]
            ).run()
        #if canImport(Security)
            case "url":
                let phone = Phone(port: Int(rest[0])!)
                try await UrlTests(phone: phone, folder: rest[1], url: rest[2], code: rest[3]).run()
        #endif
        default: fatalError("models, values, device, keys, cloud or url")
        }
        exit(broken.load(ordering: .relaxed) == 0 ? 0 : 1)
    }
}
