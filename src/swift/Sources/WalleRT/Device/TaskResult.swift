import CWalle

/// What one firing of a task has come to.
public struct TaskResult: Sendable, Equatable {
    public let task: String
    public let version: String

    /// Of the firing: 1, 2, 3 ... of the task; a gap in a stream is a firing that was not taken in time.
    public let number: Int

    /// The name of the trigger that fired.
    public let trigger: String

    /// Number of the event that completed it.
    public let seq: Int

    /// Event time in microseconds since 1970.
    public let ts: Int
    public let ok: Bool

    /// What the task returned; none after a failure.
    public let value: Value

    /// Why it failed, in one text; "" when `ok`.
    public let error: String

    /// Of a failure: "preprocess", "execute" ...
    public let phase: String

    /// Stored result rows.
    public let rows: Int

    /// Features that wait to leave the device.
    public let sends: Int
    public let preprocessUs: Int
    public let executeUs: Int
    public let postprocessUs: Int
    public let waitedUs: Int

    /// 1, or of what is tried again 2, 3 ...
    public let attempt: Int

    /// Of a failure, when it is tried again; 0: it is not.
    public let retryAt: Int

    init(_ c: walle_task_result_t) throws {
        task = text(c.task)
        version = text(c.version)
        number = Int(clamping: c.number)
        trigger = text(c.trigger)
        seq = Int(clamping: c.seq)
        ts = Int(c.ts)
        ok = c.ok != 0
        value = try c.value.map { try Value($0.pointee) } ?? .none
        error = text(c.error)
        phase = text(c.phase)
        rows = Int(c.rows)
        sends = Int(c.sends)
        preprocessUs = Int(c.preprocess_us)
        executeUs = Int(c.execute_us)
        postprocessUs = Int(c.postprocess_us)
        waitedUs = Int(c.waited_us)
        attempt = Int(c.attempt)
        retryAt = Int(c.retry_at)
    }
}
