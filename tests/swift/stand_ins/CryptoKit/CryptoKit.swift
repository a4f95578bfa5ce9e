// The little of CryptoKit that src/swift uses; see Security.
import Foundation

public enum P256 {
    public enum Signing {
        public struct PublicKey: Sendable {
            public var x963Representation: Data { fatalError("a stand-in") }
        }

        public struct ECDSASignature: Sendable {
            public var derRepresentation: Data { fatalError("a stand-in") }
        }

        public struct PrivateKey: Sendable {
            public init() {}
            public init(pemRepresentation: String) throws {}
            public var pemRepresentation: String { fatalError("a stand-in") }
            public var x963Representation: Data { fatalError("a stand-in") }
            public var publicKey: PublicKey { fatalError("a stand-in") }
            public func signature<D: DataProtocol>(for data: D) throws -> ECDSASignature { ECDSASignature() }
        }
    }
}
