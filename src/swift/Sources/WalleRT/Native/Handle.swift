import CWalle

/// An address on its way to another thread.
struct Address: @unchecked Sendable {
    let pointer: OpaquePointer
}

/// A native object: used by any thread, freed once, behind its last use.
///
/// Closing it turns every later use into an error; uses under way end first, on their own threads, and the
/// last one of them frees. So that nobody ever waits here, and nobody holds what is freed. Its owner closes
/// it in `deinit`, too.
final class Handle: Sendable {
    private struct State {
        var holders = 1  // its owner, and a use each
        var closing = false
    }

    private let address: Address
    private let what: String
    private let free: @Sendable (Address) -> Void
    private let state = Lock(State())

    init(_ address: OpaquePointer, _ what: String, free: @escaping @Sendable (Address) -> Void) {
        self.address = Address(pointer: address)
        self.what = what
        self.free = free
    }

    deinit { close() }

    var closed: Bool { state.with { $0.closing } }

    func use<T>(_ place: String, _ block: (OpaquePointer) throws -> T) throws -> T {
        guard enter() else {
            let hint = "make another one, or close it later"
            throw WalleError.argument("a closed \(what)", "an open one", place, hint)
        }
        defer { leave() }
        return try block(address.pointer)
    }

    /// Likewise, but for what means nothing any more once it is closed.
    func useIfOpen(_ block: (OpaquePointer) throws -> Void) rethrows {
        guard enter() else { return }
        defer { leave() }
        try block(address.pointer)
    }

    func close() {
        let first = state.with { state in
            defer { state.closing = true }
            return !state.closing
        }
        if first { leave() }
    }

    private func enter() -> Bool {
        state.with { state in
            guard !state.closing else { return false }
            state.holders += 1
            return true
        }
    }

    private func leave() {
        let left = state.with { state in
            state.holders -= 1
            return state.holders
        }
        if left == 0 { free(address) }
    }
}
