import Foundation
import Synchronization
import WalleRT

/// Said and counted: one line per promise, as the programs of tests/install/consumer print them.
let broken = Atomic<Int>(0)

func promise(_ kept: Bool, _ what: String) {
    say("\(kept ? "ok  " : "FAILED")  \(what)")
    if !kept { broken.add(1, ordering: .relaxed) }
}

func same<T: Equatable>(_ given: T, _ expected: T, _ what: String) {
    if given != expected { say("        \(given), expected \(expected)") }
    promise(given == expected, what)
}

/// At once, so that it is there when the process ends badly.
func say(_ line: String) {
    FileHandle.standardOutput.write(Data((line + "\n").utf8))
}

/// The call fails with that code, and its message has the word.
@discardableResult
func refused(
    _ code: ErrorCode, _ word: String, _ what: String, _ call: () async throws -> Any
) async -> WalleError? {
    do {
        say("        no error: \(try await call())")
    } catch let error as WalleError {
        let kept = error.code == code && (word.isEmpty || error.message.contains(word))
        if !kept { say("        \(error.code): \(error.message)") }
        promise(kept, what)
        return error
    } catch {
        say("        \(type(of: error)): \(error)")
    }
    promise(false, what)
    return nil
}

struct TooLate: Error {}

/// Until it holds; as long as a slow machine may take.
func until(_ holds: () async throws -> Bool) async throws {
    let end = ContinuousClock.now + .seconds(120)
    while try await !holds() {
        guard ContinuousClock.now < end else { throw TooLate() }
        try await Task.sleep(for: .milliseconds(10))
    }
}

/// On a thread of its own, for what blocks.
func apart<T: Sendable>(_ work: @escaping @Sendable () throws -> T) async throws -> T {
    try await withCheckedThrowingContinuation { done in
        DispatchQueue(label: "tests").async { done.resume(with: Result { try work() }) }
    }
}

/// A value that several threads change.
final class Shared<Value: Sendable>: Sendable {
    private let value: Mutex<Value>

    init(_ value: Value) {
        self.value = Mutex(value)
    }

    var now: Value { value.withLock { $0 } }

    func change(_ by: (inout Value) -> Void) {
        value.withLock { value in
            var changed = value
            by(&changed)
            value = changed
        }
    }
}
