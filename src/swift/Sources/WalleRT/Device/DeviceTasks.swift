import CWalle

extension Device {
    /// Install a task, or replace the one of its name; durable when it returns. After an error all is as
    /// before.
    ///
    /// - Parameter task: path of a `.wtask` file, or of a `.walp` file beside the folder `blobs`.
    /// - Throws: `WalleError` RESOURCE: there is no such file; TASK, MODEL: none that can be installed; the
    ///   message says where.
    public func install(_ task: String) async throws {
        try await used("install") { device, arena in
            let path = try arena.text(task, "the path of a task")
            try checked { walle_device_install(device, path, $0) }
        }
    }

    /// The same of a bundle's bytes, a resource of the app say.
    public func install(_ task: [UInt8]) async throws {
        try await used("install") { device, _ in
            try checked { walle_device_install_data(device, task, task.count, $0) }
        }
    }

    /// Ask a task: run a function that its `[call]` names, between two firings, and take what it returns.
    ///
    /// Cancelling the task of Swift's takes effect when the function has ended: `timeout` and the declared
    /// `wall_ms` bound it.
    ///
    /// - Parameters:
    ///   - arguments: as declared; tensors and buffers share their memory with the task.
    ///   - timeout: for waiting and running together; nil: none of its own.
    /// - Throws: `WalleError` TASK: the function raised; TIMEOUT; ARGUMENT: no such task or function, other
    ///   arguments than declared, a call from one of the device's own callbacks.
    @discardableResult
    public func call(
        _ task: String, _ function: String, _ arguments: Value..., timeout: Duration? = nil
    ) async throws -> Value {
        try Callback.refuse(kept.number, "Device.call")
        let limit = try seconds(of: timeout, "Device.call")
        return try await used("call") { device, arena in
            let name = try arena.text(task, "the name of a task")
            let called = try arena.text(function, "the name of a function")
            let given = try arena.values(arguments)
            var result: OpaquePointer?
            try checked { error in
                walle_device_call(device, name, called, given, arguments.count, limit, &result, error)
            }
            return try Value.taking(result)
        }
    }

    /// Remove a task. What waits is dropped; its tables stay.
    public func remove(_ task: String) async throws {
        try await used("remove") { device, arena in
            let name = try arena.text(task, "the name of a task")
            try checked { walle_device_remove(device, name, $0) }
        }
    }

    /// Every installed task by name.
    public func tasks() throws -> [String: TaskInfo] {
        try use("tasks") { device, _ in
            var tasks: OpaquePointer?
            try checked { walle_device_tasks(device, &tasks, $0) }
            defer { walle_device_tasks_free(tasks) }
            let all = (0..<walle_device_tasks_count(tasks)).compactMap { index in
                walle_device_tasks_at(tasks, index).map { TaskInfo($0.pointee) }
            }
            return Dictionary(all.map { ($0.name, $0) }) { first, _ in first }
        }
    }

    /// - Throws: `WalleError` ARGUMENT: there is no such task.
    public func task(_ name: String) throws -> TaskInfo {
        let all = try tasks()
        if let found = all[name] { return found }
        let known = all.isEmpty ? "none" : all.keys.sorted().joined(separator: ", ")
        throw WalleError.argument("task '\(name)'", "one of: \(known)", "Device.task", "install it")
    }

    /// Let tasks call a function of the app as `walle.app.NAME`, where their `[app]` declares it, in place of
    /// the one of that name; nil: not any more. What firings need that waited since the last open is given to
    /// `open`.
    public func provide(_ name: String, _ function: AppFunction?) throws {
        let number = function.map { Upcalls.keep(Provided(device: kept.number, function: $0)) }
        do {
            try use("provide") { device, arena in
                let called = try arena.text(name, "the name of a function")
                let user = Upcalls.user(number ?? 0)
                try checked { walle_device_provide(device, called, number == nil ? nil : onApp, user, $0) }
            }
        } catch {
            if let number { Upcalls.drop(number) }
            throw error
        }
        kept.replace(name, by: number)
    }

    /// Set values of a task's `walle.params`; `.none` goes back to the default, what is not named stays.
    /// Durable.
    public func setParams(_ task: String, _ params: [String: Value]) async throws {
        try await used("setParams") { device, arena in
            let name = try arena.text(task, "the name of a task")
            var given = try arena.value(.map(params))
            try checked { walle_device_set_params(device, name, &given, $0) }
        }
    }

    /// Look up a feature that a task keeps per key, for many keys, behind the newest event.
    ///
    /// - Parameter keys: values of the field that `by` names, or lists of the values of several.
    /// - Returns: for each key an int, a float, or none where there is no event that counts.
    public func features(_ task: String, _ name: String, _ keys: [Value]) async throws -> [Value] {
        try await used("features") { device, arena in
            let of = try arena.text(task, "the name of a task")
            let feature = try arena.text(name, "the name of a feature")
            var given = try arena.value(.list(keys))
            var result: OpaquePointer?
            try checked { walle_device_features(device, of, feature, &given, &result, $0) }
            return try Value.taking(result).asList ?? []
        }
    }
}
