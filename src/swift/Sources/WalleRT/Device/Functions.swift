import CWalle

/// A function that tasks call as `walle.app.NAME`; several at once. What it throws reaches the task as a
/// RuntimeError with its type and text.
///
/// The task waits for it as long as its `[app]` says. In it, and in tasks that it starts but for detached
/// ones, `Device.call`, `wait`, `disconnect` and `close`, which would wait for it, are refused.
public typealias AppFunction = @Sendable ([Value]) async throws -> Value

/// Takes lines of tasks: task, level (0 debug, 1 info, 2 warning, 3 error), text. On the thread that runs the
/// task, which waits for it.
public typealias TaskLog = @Sendable (String, Int, String) -> Void

/// What C calls by number for a function of the app.
struct Provided: Sendable {
    let device: UInt
    let function: AppFunction
}

func onApp(
    _ user: UnsafeMutableRawPointer?, _ arguments: UnsafePointer<walle_vm_value_t>?, _ count: Int,
    _ answer: OpaquePointer?
) {
    guard let app = Upcalls.target(user, Provided.self) else {
        walle_app_fail(answer, "the device is closed", nil)
        return
    }
    do {
        let given = try Value.all(arguments, count)
        let value = try awaited(app.device) { try await app.function(given) }.get()
        try Arena.with("the answer of a function") { arena in
            var plain = try arena.value(value)
            try checked { walle_app_return(answer, &plain, $0) }
        }
    } catch {
        walle_app_fail(answer, "\(type(of: error)): \(error)", nil)
    }
}

/// What C calls by number for lines of tasks.
struct Logs: Sendable {
    let take: TaskLog
}

func onLog(
    _ user: UnsafeMutableRawPointer?, _ task: UnsafePointer<CChar>?, _ level: Int32,
    _ line: UnsafePointer<CChar>?, _ size: Int
) {
    Upcalls.target(user, Logs.self)?.take(text(task), Int(level), text(line, size))
}

/// Results of firings. Without memory for what a task returned nobody is told: the tables have it.
func onFiring(_ user: UnsafeMutableRawPointer?, _ result: UnsafePointer<walle_task_result_t>?) {
    guard let result, let made = try? TaskResult(result.pointee) else { return }
    Upcalls.target(user, Listeners.self)?.tell(made)
}
