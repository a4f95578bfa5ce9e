// The little of Network that src/swift uses; see Security.
import Dispatch
import Foundation
import Security

public enum NWError: Error, Equatable, Sendable { case posix(Int32) }

public enum NWEndpoint {
    public struct Host: Sendable {
        public init(_ string: String) {}
    }

    public struct Port: Sendable {
        public init?(rawValue: UInt16) {}
    }
}

public enum NWProtocolTLS {
    public final class Options {
        public init() {}
        public var securityProtocolOptions: sec_protocol_options_t { sec_protocol_options_t() }
    }
}

public final class NWParameters: Sendable {
    public init(tls: NWProtocolTLS.Options?) {}
}

public final class NWConnection: @unchecked Sendable {
    public enum State: Equatable, Sendable {
        case setup, preparing, ready, cancelled
        case waiting(NWError)
        case failed(NWError)
    }

    public final class ContentContext: Sendable {}

    public enum SendCompletion: Sendable {
        case contentProcessed(@Sendable (NWError?) -> Void)
        case idempotent
    }

    public init(host: NWEndpoint.Host, port: NWEndpoint.Port, using: NWParameters) {}
    public var state: State { .setup }
    public var stateUpdateHandler: (@Sendable (State) -> Void)?
    public func start(queue: DispatchQueue) {}
    public func cancel() {}
    public func receive(
        minimumIncompleteLength: Int, maximumLength: Int,
        completion: @escaping @Sendable (Data?, ContentContext?, Bool, NWError?) -> Void
    ) {}
    public func send(content: Data?, completion: SendCompletion) {}
}
