import CWalle

/// What is known of an installed task. Counts of firings are those since the device was opened.
public struct TaskInfo: Sendable, Equatable {
    public let name: String
    public let version: String

    /// idle, queued, running, waiting (for facts), "set aside" (failed too often in a row) or broken.
    public let status: String

    /// The newest failure; of a task that was set aside or is broken, why; "" without one.
    public let error: String
    public let firings: Int
    public let failures: Int
    public let failuresInRow: Int

    /// Whether it has an interpreter, of `heapBytes`.
    public let hot: Bool
    public let heapBytes: Int

    /// Calls that could not be stopped.
    public let lostWorkers: Int
    public let waiting: Int
    public let dropped: Int
    public let coalesced: Int

    /// Attempts that failed and were put off.
    public let retries: Int

    /// Firings that wait to be tried again, and when the next is due, in microseconds since 1970.
    public let retrying: Int
    public let nextRetry: Int

    init(_ c: walle_task_info_t) {
        name = text(c.name)
        version = text(c.version)
        status = text(c.status)
        error = text(c.error)
        firings = Int(clamping: c.firings)
        failures = Int(clamping: c.failures)
        failuresInRow = Int(c.failures_in_row)
        hot = c.hot != 0
        heapBytes = Int(clamping: c.heap_bytes)
        lostWorkers = Int(clamping: c.lost_workers)
        waiting = Int(clamping: c.waiting)
        dropped = Int(clamping: c.dropped)
        coalesced = Int(clamping: c.coalesced)
        retries = Int(clamping: c.retries)
        retrying = Int(clamping: c.retrying)
        nextRetry = Int(c.next_retry)
    }
}
