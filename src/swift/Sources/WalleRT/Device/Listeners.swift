/// A listener of a device; `Device.onResult` makes it.
public final class Listening: Sendable {
    private let stop: @Sendable () -> Void

    init(_ stop: @escaping @Sendable () -> Void) {
        self.stop = stop
    }

    /// It is not called any more, but for a call under way.
    public func close() { stop() }
}

/// Whom results are told to. It knows no device: C's half of one holds it, and must not keep it.
final class Listeners: Sendable {
    private struct Listener: Sendable {
        let task: String?
        let take: @Sendable (TaskResult) -> Void
        let end: @Sendable () -> Void
    }

    private struct Each {
        var next = 0
        var all: [Int: Listener] = [:]

        var inOrder: [Listener] { all.sorted { $0.key < $1.key }.map(\.value) }
    }

    private let each = Lock(Each())

    /// - Parameter task: of one task alone; nil: of all.
    func add(
        _ task: String?, _ take: @escaping @Sendable (TaskResult) -> Void,
        end: @escaping @Sendable () -> Void
    ) -> Listening {
        let number = each.with { each in
            defer { each.next += 1 }
            each.all[each.next] = Listener(task: task, take: take, end: end)
            return each.next
        }
        return Listening { [self] in
            // What a listener held may end with it, and call here again: outside of the lock.
            _ = each.with { $0.all.removeValue(forKey: number) }
        }
    }

    /// From a worker, for one firing after the other of a task.
    func tell(_ result: TaskResult) {
        for one in each.with({ $0.inOrder }) where one.task == nil || one.task == result.task {
            one.take(result)
        }
    }

    /// The device is closed.
    func end() {
        let ended = each.with { each in
            defer { each.all = [:] }
            return each.inOrder
        }
        for one in ended { one.end() }
    }
}
