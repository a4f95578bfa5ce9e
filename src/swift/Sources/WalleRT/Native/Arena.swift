import CWalle
import Foundation

/// What one call of the C API points to: texts, arrays, values and their memory. Freed behind the call.
final class Arena {
    /// Of the function that was called, for messages.
    let place: String
    private var blocks: [UnsafeMutableRawPointer] = []
    private var buffers: [OpaquePointer] = []
    private var kept: [Memory] = []

    private init(_ place: String) {
        self.place = place
    }

    /// By `defer`, because Swift may end an object's life behind its last use, which a pointer is not.
    static func with<T>(_ place: String, _ body: (Arena) throws -> T) rethrows -> T {
        let arena = Arena(place)
        defer { arena.free() }
        return try body(arena)
    }

    private func free() {
        buffers.forEach(walle_vm_buffer_free)
        blocks.forEach { $0.deallocate() }
        kept = []
    }

    /// - Parameter what: how a message calls the text.
    /// - Throws: it holds a zero, where C would end it and name something else.
    func text(_ text: String, _ what: String) throws -> UnsafePointer<CChar> {
        guard !text.utf8.contains(0) else {
            let given = "\(what) with a character of code 0"
            throw WalleError.argument(given, "a text without", place, "leave it out")
        }
        return UnsafePointer(array(text.utf8CString.map { $0 }))
    }

    /// Likewise; nothing where there is none.
    func textOrNull(_ text: String?, _ what: String) throws -> UnsafePointer<CChar>? {
        try text.map { try self.text($0, what) }
    }

    func array<T>(_ items: [T]) -> UnsafeMutablePointer<T> {
        let made = UnsafeMutablePointer<T>.allocate(capacity: max(1, items.count))
        made.initialize(from: items, count: items.count)
        blocks.append(UnsafeMutableRawPointer(made))
        return made
    }

    func keep(_ memory: Memory) -> UnsafeMutableRawPointer {
        kept.append(memory)
        return memory.base
    }

    /// Memory for a task, which may keep it: libwalle holds a reference until the last holder lets go.
    func buffer(_ memory: Memory) throws -> OpaquePointer? {
        let held = Unmanaged.passRetained(memory)
        var made: OpaquePointer?
        do {
            try checked { error in
                walle_vm_buffer_wrap(
                    memory.base, memory.count, 1, { Unmanaged<Memory>.fromOpaque($0!).release() },
                    held.toOpaque(), &made, error)
            }
        } catch {
            held.release()
            throw error
        }
        if let made { buffers.append(made) }
        return made
    }
}
