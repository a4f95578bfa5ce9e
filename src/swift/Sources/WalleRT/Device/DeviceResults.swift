import CWalle

extension Device {
    // As finely as a task that is cancelled leaves.
    private static let slice = Duration.milliseconds(100)

    /// Have `listener` called behind every firing, on a worker, which waits for it; until what this returns
    /// is closed, or the device. After a crash it is not called again: what must not be missed is in the
    /// tables.
    @discardableResult
    public func onResult(_ listener: @escaping @Sendable (TaskResult) -> Void) throws -> Listening {
        try listen(nil, "onResult", listener, end: {})
    }

    /// Results of firings (of one task, or of all) as they come, from this call on until the device is
    /// closed. Of those that nobody takes `limit` wait; beyond it the oldest go.
    public func watch(_ task: String? = nil, limit: Int = 1024) throws -> AsyncStream<TaskResult> {
        let (stream, waiting) = AsyncStream.makeStream(
            of: TaskResult.self, bufferingPolicy: .bufferingNewest(max(1, limit)))
        let listening = try listen(task, "watch", { waiting.yield($0) }, end: { waiting.finish() })
        hold(listening, until: waiting)
        return stream
    }

    /// A task's result table.
    public func results(_ task: String, _ table: String) -> Results {
        Results(device: self, task: task, table: table)
    }

    func read(_ task: String, _ table: String, _ start: Int, _ limit: Int) async throws -> Rows {
        guard start >= 0, limit >= 0 else {
            let given = "rows from \(start) on, at most \(limit)"
            let hint = "leave out what is negative"
            throw WalleError.argument(given, "numbers from 0 on", "Device.results", hint)
        }
        return try await used("results") { device, arena in
            let name = try arena.text(task, "the name of a task")
            let of = try arena.text(table, "the name of a table")
            var rows: OpaquePointer?
            try checked { walle_device_read(device, name, of, UInt64(start), UInt64(limit), &rows, $0) }
            defer { walle_device_rows_free(rows) }
            return Rows(rows)
        }
    }

    /// That there are results of a task, told once however many there were.
    func news(of task: String) throws -> AsyncStream<Void>.Iterator {
        let (stream, news) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let listening = try listen(task, "results", { _ in news.yield() }, end: { news.finish() })
        hold(listening, until: news)
        return stream.makeAsyncIterator()
    }

    /// The listener goes with the stream, and the device stays as long.
    private func hold<Element>(
        _ listening: Listening, until stream: AsyncStream<Element>.Continuation
    ) {
        stream.onTermination = { [self] _ in
            withExtendedLifetime(self) { listening.close() }
        }
    }

    private func listen(
        _ task: String?, _ function: String, _ take: @escaping @Sendable (TaskResult) -> Void,
        end: @escaping @Sendable () -> Void
    ) throws -> Listening {
        let listening = kept.listeners.add(task, take, end: end)
        do {
            try use(function) { device, _ in
                try checked { walle_device_on_result(device, onFiring, Upcalls.user(kept.number), $0) }
            }
        } catch {
            listening.close()
            throw error
        }
        return listening
    }

    /// What is gone, of any file of the folder; `verify` reads all tables first.
    public func losses(verify: Bool = false) async throws -> [Loss] {
        try await used("losses") { device, _ in
            var losses: OpaquePointer?
            try checked { walle_device_losses(device, verify ? 1 : 0, &losses, $0) }
            defer { walle_device_losses_free(losses) }
            return (0..<walle_device_losses_count(losses)).compactMap { index in
                walle_device_losses_at(losses, index).map { Loss($0.pointee) }
            }
        }
    }

    /// Forget what `losses` tells now, durably; of "accounts" none.
    public func acknowledgeLosses() async throws {
        try await used("acknowledgeLosses") { device, _ in
            try checked { walle_device_acknowledge_losses(device, $0) }
        }
    }

    /// Wait until no task is queued or running; false: not within that time; nil: as long as it takes.
    ///
    /// - Throws: `CancellationError`, within a tenth of a second.
    public func wait(timeout: Duration? = nil) async throws -> Bool {
        try Callback.refuse(kept.number, "Device.wait")
        let clock = ContinuousClock()
        let begun = clock.now
        while true {
            try Task.checkCancellation()
            let left = timeout.map { $0 - (clock.now - begun) } ?? Device.slice * 2
            let slice = milliseconds(min(max(left, .zero), Device.slice))
            let idle = try await used("wait") { device, _ in
                var idle: Int32 = 0
                try checked { walle_device_wait(device, slice, &idle, $0) }
                return idle != 0
            }
            if idle { return true }
            if left <= Device.slice { return false }
        }
    }
}
