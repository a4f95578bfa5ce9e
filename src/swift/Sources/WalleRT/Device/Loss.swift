import CWalle

/// Something of a device that is gone, told at every open until it is acknowledged.
public struct Loss: Sendable, Equatable {
    /// "events", "rows", "sends", "commits", "settled", "tasks", "triggers", "budgets", "accounts" or "kv".
    public let what: String

    /// "journal", "damaged_segment", "missing_segment", "quota", "age" or "manifest".
    public let kind: String

    /// The table, the stream, the task, or the reader; "" where it is the device's.
    public let name: String

    /// Number of the first that is gone, and of the last; 0 where there are none.
    public let first: Int
    public let last: Int

    /// How many there were; unless `exact` the most that there can have been.
    public let count: Int
    public let exact: Bool

    /// When, in microseconds since 1970; 0: at this open.
    public let noticed: Int
    public let cause: String

    init(_ c: walle_loss_t) {
        what = text(c.what)
        kind = text(c.kind)
        name = text(c.name)
        first = Int(clamping: c.first)
        last = Int(clamping: c.last)
        count = Int(clamping: c.count)
        exact = c.exact != 0
        noticed = Int(c.noticed)
        cause = text(c.cause)
    }
}
