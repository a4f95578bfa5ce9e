/// A value that goes to a task or comes from one. Literals are values: `["item": 7]`.
public enum Value: Sendable, Equatable {
    case none
    case bool(Bool)
    case int(Int)
    case float(Double)
    case text(String)
    case bytes([UInt8])
    case list([Value])
    case map([String: Value])
    /// Its memory is shared with the task; what comes from one is a copy.
    case tensor(Tensor)
    /// Likewise; the task sees a memoryview.
    case buffer(Memory)
}

/// What it is, where it is that; otherwise nil.
extension Value {
    public var asBool: Bool? { if case .bool(let value) = self { value } else { nil } }
    public var asInt: Int? { if case .int(let value) = self { value } else { nil } }
    /// Of an int, too.
    public var asFloat: Double? {
        if case .float(let value) = self { value } else { asInt.map(Double.init) }
    }
    public var asText: String? { if case .text(let value) = self { value } else { nil } }
    public var asBytes: [UInt8]? { if case .bytes(let value) = self { value } else { nil } }
    public var asList: [Value]? { if case .list(let value) = self { value } else { nil } }
    public var asMap: [String: Value]? { if case .map(let value) = self { value } else { nil } }
    public var asTensor: Tensor? { if case .tensor(let value) = self { value } else { nil } }
    public var asBuffer: Memory? { if case .buffer(let value) = self { value } else { nil } }
}

extension Value: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByFloatLiteral, ExpressibleByStringInterpolation, ExpressibleByArrayLiteral,
    ExpressibleByDictionaryLiteral
{
    public init(nilLiteral: ()) { self = .none }
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    public init(integerLiteral value: Int) { self = .int(value) }
    public init(floatLiteral value: Double) { self = .float(value) }
    public init(stringLiteral value: String) { self = .text(value) }
    public init(arrayLiteral elements: Value...) { self = .list(elements) }
    public init(dictionaryLiteral elements: (String, Value)...) {
        self = .map(Dictionary(elements) { _, last in last })
    }
}

extension Value: CustomStringConvertible {
    public var description: String {
        switch self {
        case .none: "none"
        case .bool(let value): "\(value)"
        case .int(let value): "\(value)"
        case .float(let value): "\(value)"
        case .text(let value): value
        case .bytes(let value): "\(value.count) bytes"
        case .list(let value): "\(value)"
        case .map(let value): "\(value)"
        case .tensor(let value): "\(value)"
        case .buffer(let value): "a buffer of \(value.count) bytes"
        }
    }
}
