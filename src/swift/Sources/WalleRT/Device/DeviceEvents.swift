import CWalle
import Foundation

extension Device {
    /// Declare an event, or append fields to a declared one, durably.
    ///
    /// - Throws: `WalleError` ARGUMENT: a declaration that contradicts an earlier one.
    public func declare(_ event: String, fields: [String: Field] = [:]) async throws {
        try await used("declare") { device, arena in
            let name = try arena.text(event, "the name of an event")
            // By name: a dictionary of Swift has another order in every process.
            let given = try fields.sorted { $0.key < $1.key }.map { name, field in
                walle_field_t(
                    name: try arena.text(name, "the name of a field"),
                    type: walle_column_type_t(rawValue: UInt32(field.type.rawValue)),
                    sensitivity: walle_sensitivity_t(rawValue: UInt32(field.sensitivity.rawValue)))
            }
            try checked { walle_device_declare(device, name, arena.array(given), given.count, $0) }
        }
    }

    /// Declare pages, durably.
    public func declarePage(_ names: String...) async throws {
        try await used("declarePage") { device, arena in
            for name in names {
                let page = try arena.text(name, "the name of a page")
                try checked { walle_device_declare_page(device, page, $0) }
            }
        }
    }

    /// Declare states that `when` clauses test, durably.
    public func declareState(_ names: String...) async throws {
        try await used("declareState") { device, arena in
            for name in names {
                let state = try arena.text(name, "the name of a state")
                try checked { walle_device_declare_state(device, state, $0) }
            }
        }
    }

    /// Record one event; tasks that it triggers run on the workers, and this does not wait for them, nor,
    /// unless `durable`, for the disk. See `Event`.
    ///
    /// - Returns: the event's number.
    /// - Throws: `WalleError` ARGUMENT: a name that is not declared, a value of another type, a closed
    ///   device; RESOURCE: a full disk.
    @discardableResult
    public func record(
        _ event: String, page: String = "", contents: [String: Value] = [:], ts: Int? = nil, on: Bool = true,
        durable: Bool = false
    ) throws -> Int {
        try record(Event(event, page: page, contents: contents, ts: ts, on: on, durable: durable))
    }

    /// The same.
    @discardableResult
    public func record(_ event: Event) throws -> Int {
        try use("record") { device, arena in
            var made = walle_event_t()
            made.struct_size = MemoryLayout.size(ofValue: made)
            made.name = try arena.text(event.name, "the name of an event")
            made.page = try arena.text(event.page, "the name of a page")
            made.ts = Int64(event.ts ?? 0)
            made.on = event.on ? 1 : 0
            made.durable = event.durable ? 1 : 0
            let contents = try event.contents.map { name, value in
                walle_content_t(
                    field: try arena.text(name, "the name of a field"), value: try arena.value(value))
            }
            made.contents = UnsafePointer(arena.array(contents))
            made.count = contents.count
            var seq: UInt64 = 0
            try checked { walle_device_record(device, &made, &seq, $0) }
            return Int(clamping: seq)
        }
    }

    /// Record events as they come, on a thread for what blocks.
    public func record<Events: AsyncSequence>(_ events: Events) async throws where Events.Element == Event {
        for try await event in events {
            _ = try await blocking { [self] in try record(event) }
        }
    }

    /// Device time has reached `now` (microseconds since 1970; nil: the clock's) without an event, and
    /// maintenance that is due is done. Only needed with `background: false`.
    public func advance(_ now: Int? = nil) async throws {
        try await used("advance") { device, _ in
            try checked { walle_device_advance(device, Int64(now ?? 0), $0) }
        }
    }

    /// What holds on this device - "charging": true, "unmetered": false - for tasks that require it.
    public func setFacts(_ facts: [String: Bool]) async throws {
        try await used("setFacts") { device, arena in
            for (name, holds) in facts {
                let fact = try arena.text(name, "the name of a fact")
                try checked { walle_device_set_fact(device, fact, holds ? 1 : 0, $0) }
            }
        }
    }

    /// Local time, by which `daily` and `during` go, is another from now on; nil: the host's, asked anew.
    public func setZone(_ zone: TimeZone? = nil) async throws {
        try await blocking { [self] in try setLocalTime(zone, "Device.setZone") }
    }

    func setLocalTime(_ zone: TimeZone?, _ place: String) throws {
        let offsets = zone.map(offsetChanges) ?? []
        try handle.use(place) { device in
            try checked { error in
                offsets.withUnsafeBufferPointer { given in
                    let first = offsets.isEmpty ? nil : given.baseAddress
                    return walle_device_set_local_time(device, first, given.count, error)
                }
            }
        }
    }
}
