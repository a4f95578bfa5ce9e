import CWalle

/// Types of fields and columns, numbered as in `walle_column_type_t`. `bytes` are of columns alone.
public enum ColumnType: Int, Sendable {
    case int, float, bool, text, bytes
}

/// How much a field says about a person: what a policy lets leave the device goes by it.
public enum Sensitivity: Int, Sendable {
    case open, personal, secret
}

/// A field of an event: an int, a float, a bool, or a text of at most 16,384 bytes.
public struct Field: Sendable, Equatable {
    public var type: ColumnType
    public var sensitivity: Sensitivity

    public init(_ type: ColumnType, _ sensitivity: Sensitivity = .personal) {
        self.type = type
        self.sensitivity = sensitivity
    }
}

/// An event to record.
public struct Event: Sendable, Equatable {
    /// A declared name.
    public var name: String

    /// A declared page, "" for none; of `app_state` a declared state.
    public var page: String

    /// Values of declared fields.
    public var contents: [String: Value]

    /// Microseconds since 1970; nil: now.
    public var ts: Int?

    /// Of `app_state`: whether the state begins or ends.
    public var on: Bool

    /// Return when the event survives a power loss; otherwise it survives a killed process.
    public var durable: Bool

    public init(
        _ name: String, page: String = "", contents: [String: Value] = [:], ts: Int? = nil, on: Bool = true,
        durable: Bool = false
    ) {
        self.name = name
        self.page = page
        self.contents = contents
        self.ts = ts
        self.on = on
        self.durable = durable
    }
}
