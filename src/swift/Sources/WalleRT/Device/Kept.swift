import CWalle

/// What C knows of a device by number. It outlives the device and must not know it.
final class Kept: Sendable {
    let listeners = Listeners()
    /// Names the device in its callbacks, too; see `Callback`.
    let number: UInt
    private let log: UInt
    private let functions = Lock<[String: UInt]>([:])
    private let connection = Lock<Connection?>(nil)

    init(log: TaskLog?, app: [String: AppFunction]) {
        number = Upcalls.keep(listeners)
        self.log = log.map { Upcalls.keep(Logs(take: $0)) } ?? 0
        let provided = app.mapValues { Upcalls.keep(Provided(device: number, function: $0)) }
        functions.with { $0 = provided }
    }

    func fill(_ options: inout walle_device_options_t, _ arena: Arena) throws {
        options.log = log == 0 ? nil : onLog
        options.log_user = Upcalls.user(log)
        let app = try functions.with { $0 }.map { name, number in
            walle_app_function_t(
                name: try arena.text(name, "the name of a function"), function: onApp,
                user: Upcalls.user(number))
        }
        options.app = UnsafePointer(arena.array(app))
        options.app_count = app.count
    }

    /// C has taken another function, or none; the one of before is not called any more.
    func replace(_ name: String, by number: UInt?) {
        let old = functions.with { functions in
            defer { functions[name] = number }
            return functions[name]
        }
        if let old { Upcalls.drop(old) }
    }

    var connected: Bool { connection.with { $0 != nil } }

    func connect(_ made: Connection?) {
        // What it held ends outside of the lock.
        let old = connection.with { connection in
            defer { connection = made }
            return connection
        }
        withExtendedLifetime(old) {}
    }

    /// The device is closed.
    func end() {
        connect(nil)
        listeners.end()
    }

    /// Nobody is called any more.
    func drop() {
        end()
        let all = functions.with { functions in
            defer { functions = [:] }
            return functions.values.map { $0 }
        }
        for number in all + [log, number] { Upcalls.drop(number) }
    }
}
