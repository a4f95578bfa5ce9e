import Dispatch

/// What may block, on a thread of its own: those of Swift's tasks are as many as processors, and one that
/// waits there is missing to everybody.
func blocking<T: Sendable>(_ work: @escaping @Sendable () throws -> T) async throws -> T {
    try await withCheckedThrowingContinuation { continuation in
        apart { continuation.resume(with: Result { try work() }) }
    }
}

/// On another thread. A queue for each: a serial queue gets a thread at once, where the concurrent ones wait
/// until the system sees that all of theirs are blocked.
func apart(_ work: @escaping @Sendable () -> Void) {
    DispatchQueue(label: "walle_rt").async(execute: work)
}

/// What an app does asynchronously, for a thread of libwalle's own, which waits for it.
///
/// - Parameter device: whose callback it is; see `Callback`.
func awaited<T: Sendable>(
    _ device: UInt, _ work: @escaping @Sendable () async throws -> T
) -> Result<T, any Error> {
    let done = DispatchSemaphore(value: 0)
    let said = Lock<Result<T, any Error>>(.failure(CancellationError()))
    Task.detached {
        do {
            let made = try await Callback.$device.withValue(device) { try await work() }
            said.with { $0 = .success(made) }
        } catch {
            said.with { $0 = .failure(error) }
        }
        done.signal()
    }
    done.wait()
    return said.with { $0 }
}

/// In which device's callback an asynchronous function of the app is. The C API knows its callbacks by their
/// thread, which such a function has left; what would wait for it is refused by this.
enum Callback {
    @TaskLocal static var device: UInt?

    static func refuse(_ device: UInt, _ place: String) throws {
        guard Callback.device == device else { return }
        throw WalleError.argument(
            "a call from one of the device's own callbacks", "one from outside", place,
            "return first, or call it in Task.detached")
    }
}
