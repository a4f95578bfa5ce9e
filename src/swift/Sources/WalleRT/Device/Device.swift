import CWalle
import Foundation

/// One folder in which events are recorded, and tasks run whose triggers they complete; `open` makes it.
///
/// Every function may be called from any thread; a firing's results are durable before anybody is told of
/// them. A folder has one device at a time. In its own callbacks - listeners, functions that tasks call,
/// logs, transports - what would wait for them is refused: `call`, `wait`, `disconnect`, `close`. What nobody
/// closed is closed when nobody holds it any more, not even a stream of it.
public final class Device: Sendable, CustomStringConvertible {
    public let path: String
    let handle: Handle
    let kept: Kept

    /// Calls of `close` under way, which C answers as a closed device before they return, or that have ended.
    private let closing = Lock(0)

    private init(_ path: String, _ device: OpaquePointer, _ kept: Kept) {
        self.path = path
        self.kept = kept
        handle = Handle(device, "device") { device in
            // To free one waits for its callbacks, in one of which its last use may have been.
            apart {
                walle_device_free(device.pointer)
                kept.drop()
            }
        }
    }

    deinit { handle.close() }

    /// Open the folder, or make it, and take up what was under way.
    ///
    /// - Parameters:
    ///   - workers: threads that run tasks, 1 to 64; 0: 2.
    ///   - ready: warm interpreters that wait for a task, 0.4 MB each; 0: 2.
    ///   - hotTasks: tasks that keep their interpreter between firings; 0: 32.
    ///   - coldAfter: after which an unused interpreter is given back.
    ///   - grace: beyond a phase's limit, until its thread is given up.
    ///   - background: a native thread advances time; without it call `advance` often.
    ///   - zone: by which `daily` and `during` go; nil: the host's.
    ///   - key: 32 bytes that seal what is written; a folder keeps the choice it began with.
    ///   - log: nil: lines go to libwalle's log.
    ///   - app: functions that tasks may call, there before what waits in the folder begins.
    ///   - vmLibrary: another VM library than the one beside libwalle.
    /// - Throws: `WalleError` ARGUMENT: an option out of bounds; BACKEND: no VM library; RESOURCE: a folder
    ///   that another process has open or that cannot be written.
    public static func open(
        _ path: String,
        workers: Int = 0,
        ready: Int = 0,
        hotTasks: Int = 0,
        coldAfter: Duration = .seconds(60),
        grace: Duration = .seconds(1),
        background: Bool = true,
        zone: TimeZone? = nil,
        key: [UInt8]? = nil,
        log: TaskLog? = nil,
        app: [String: AppFunction] = [:],
        vmLibrary: String? = nil
    ) async throws -> Device {
        let counts = [("workers", workers), ("ready", ready), ("hotTasks", hotTasks)]
        for (name, value) in counts where value < 0 {
            let expected = "zero or a positive number"
            throw WalleError.argument("\(name)=\(value)", expected, "Device.open", "pass one")
        }
        let kept = Kept(log: log, app: app)
        return try await blocking {
            do {
                let device = try Arena.with("Device.open") { arena in
                    var options = walle_device_options_t()
                    options.struct_size = MemoryLayout.size(ofValue: options)
                    options.vm_library = try arena.text(vmLibrary ?? Library.vm(), "a path")
                    options.workers = UInt32(clamping: workers)
                    options.ready_isolates = UInt32(clamping: ready)
                    options.hot_tasks = UInt32(clamping: hotTasks)
                    options.cold_after_ms = milliseconds(coldAfter)
                    options.grace_ms = milliseconds(grace)
                    options.no_background = background ? 0 : 1
                    options.key = key.map { UnsafeRawPointer(arena.array($0)) }
                    options.key_bytes = key?.count ?? 0
                    try kept.fill(&options, arena)
                    let folder = try arena.text(path, "a path")
                    var made: OpaquePointer?
                    try checked { walle_device_open(folder, &options, &made, $0) }
                    return Device(path, made!, kept)
                }
                if let zone { try device.setLocalTime(zone, "Device.open") }
                return device
            } catch {
                kept.drop()
                throw error
            }
        }
    }

    /// Whether `close` was called.
    public var closed: Bool { closing.with { $0 > 0 } }

    /// End the firings that run, leave others for the next open, and write everything; blocks for so long.
    /// Every later call is an error, but for another `close`. In async code use `aclose`: functions of the
    /// app that a firing waits for need the thread that this would block.
    ///
    /// - Throws: `WalleError` ARGUMENT: in one of the device's own callbacks, whose end it would wait for.
    public func close() throws {
        try Callback.refuse(kept.number, "Device.close")
        closing.with { $0 += 1 }
        do {
            try handle.useIfOpen { device in try checked { walle_device_close(device, $0) } }
        } catch {
            closing.with { $0 -= 1 }
            throw error
        }
        handle.close()
        kept.end()
    }

    /// `close` on a thread for what blocks.
    public func aclose() async throws {
        try Callback.refuse(kept.number, "Device.close")
        try await blocking { [self] in try close() }
    }

    public var description: String { "Device(\(path)\(closed ? ", closed" : ""))" }

    /// A function of the C API, on a thread for what blocks.
    func used<T: Sendable>(
        _ function: String, _ block: @escaping @Sendable (OpaquePointer, Arena) throws -> T
    ) async throws -> T {
        try await blocking { [self] in try use(function, block) }
    }

    /// Here and now.
    func use<T>(_ function: String, _ block: (OpaquePointer, Arena) throws -> T) throws -> T {
        let place = "Device.\(function)"
        return try Arena.with(place) { arena in try handle.use(place) { try block($0, arena) } }
    }
}

/// As the C API takes times: at least 1.
func milliseconds(_ time: Duration) -> UInt32 {
    let (seconds, rest) = time.components
    guard seconds < Int64(UInt32.max) / 1000 else { return .max }
    return UInt32(clamping: max(1, seconds * 1000 + rest / 1_000_000_000_000_000))
}
