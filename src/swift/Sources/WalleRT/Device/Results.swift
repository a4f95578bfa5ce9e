/// One result table of a task; `Device.results` makes it.
///
/// Reading sees every firing that a callback or `Device.wait` has told of.
public struct Results: Sendable {
    let device: Device
    public let task: String
    public let table: String

    /// Rows with numbers from `start` on, oldest first.
    ///
    /// - Parameter limit: how many at most; 0: all.
    /// - Throws: `WalleError` ARGUMENT: there is no such table, or the device is closed.
    public func read(start: Int = 0, limit: Int = 0) async throws -> Rows {
        try await device.read(task, table, start, limit)
    }

    /// Every row there is, those that come meanwhile included.
    public func rows(start: Int = 0) -> RowStream { RowStream(results: self, start: start, follows: false) }

    /// Every row there is, and then those to come, until the device is closed: none is missed, none comes
    /// twice. What was not taken by then is there at the next open, behind the last number.
    public func follow(start: Int = 0) -> RowStream {
        RowStream(results: self, start: start, follows: true)
    }
}

/// Rows of a table, read as they are asked for; see `Results.rows` and `Results.follow`.
///
/// It holds the device. Of a task that is cancelled it ends with `CancellationError`.
public struct RowStream: AsyncSequence, Sendable {
    public typealias Element = Row

    let results: Results
    let start: Int
    let follows: Bool

    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(results: results, follows: follows, from: start)
    }

    public struct AsyncIterator: AsyncIteratorProtocol {
        // One read: enough that a row costs no look-up of its own, little beside a device's memory.
        private static let rowsAtOnce = 4096

        private let results: Results
        private let follows: Bool
        private var from: Int
        private var news: AsyncStream<Void>.Iterator?
        private var rows = Rows(numbers: [], times: [], columns: [])
        private var at = 0
        private var ended = false

        fileprivate init(results: Results, follows: Bool, from: Int) {
            self.results = results
            self.follows = follows
            self.from = from
        }

        public mutating func next() async throws -> Row? {
            while at == rows.count {
                guard !ended else { return nil }
                ended = try await !readsMore()
            }
            defer { at += 1 }
            return rows[at]
        }

        /// Whether there are rows again, for which a follower waits.
        private mutating func readsMore() async throws -> Bool {
            // Before the first read: what is stored behind it is told.
            if follows && news == nil { news = try results.device.news(of: results.task) }
            while true {
                try Task.checkCancellation()
                guard let read = try await readIfOpen() else { return false }
                if let last = read.numbers.last {
                    (rows, at, from) = (read, 0, last + 1)
                    return true
                }
                guard follows, await news?.next() != nil else {
                    try Task.checkCancellation()
                    return false
                }
            }
        }

        /// Nil: the device of a follower was closed meanwhile.
        private func readIfOpen() async throws -> Rows? {
            do {
                return try await results.read(start: from, limit: AsyncIterator.rowsAtOnce)
            } catch let failed as WalleError {
                guard follows && results.device.closed else { throw failed }
                return nil
            }
        }
    }
}
