import Foundation

/// Texts of PEM.
enum Pem {
    private static let columns = 64

    static func text(_ what: String, _ der: [UInt8]) -> String {
        var left = Substring(Data(der).base64EncodedString())
        var lines: [Substring] = []
        while !left.isEmpty {
            lines.append(left.prefix(columns))
            left = left.dropFirst(columns)
        }
        return "-----BEGIN \(what)-----\n\(lines.joined(separator: "\n"))\n-----END \(what)-----\n"
    }

    /// What each block holds, in their order.
    static func blocks(_ text: String) -> [Data] {
        var out: [Data] = []
        var inside: String?
        for line in text.split(whereSeparator: \.isNewline) {
            if line.hasPrefix("-----BEGIN ") {
                inside = ""
            } else if line.hasPrefix("-----END ") {
                if let body = inside.flatMap({ Data(base64Encoded: $0) }) { out.append(body) }
                inside = nil
            } else {
                inside?.append(line.trimmingCharacters(in: .whitespaces))
            }
        }
        return out
    }
}
