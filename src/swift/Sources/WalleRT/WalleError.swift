import CWalle
import Foundation

/// Groups of causes, in the order of `walle_status_t`.
public enum ErrorCode: Int, Sendable, CaseIterable {
    case ok

    /// A value passed to the API is wrong: name, shape, dtype, range, option; or what it is asked of is
    /// closed.
    case argument

    /// A model file or graph is damaged, unsupported or inconsistent.
    case model

    /// Memory, files or another limited resource ran out or a limit was exceeded.
    case resource

    /// A requested backend, or the VM's library, is missing or failed.
    case backend

    /// A task's script, bundle or configuration failed.
    case task

    /// A connection failed or the peer answered wrongly.
    case network

    /// An invariant of the runtime does not hold: a bug worth reporting.
    case `internal`

    /// It was not done within its timeout.
    case timeout

    /// A run was ended.
    case cancelled
}

/// Every error of walle_rt.
///
/// The message says what was given, what was expected, where, and one next step; the four parts are also
/// properties, "" where the message has no such part.
public struct WalleError: Error, Sendable, CustomStringConvertible {
    public let code: ErrorCode
    public let message: String
    public let given: String
    public let expected: String
    public let `where`: String
    public let nextStep: String

    public var description: String { message }

    // The C API has the text alone, joined as compose() does; a quote may hold a mark, too, so that the
    // outermost of each counts.
    init(_ code: ErrorCode, _ message: String) {
        self.code = code
        self.message = message
        let (front, next) = message.cut(at: ". Next: ", last: true)
        let isPlaced = front.hasSuffix("]")
        let placed = isPlaced ? String(front.dropLast()).cut(at: " [at ", last: true) : (front, "")
        let (told, wanted) = placed.0.cut(at: "; expected ", last: false)
        given = told
        expected = wanted
        `where` = placed.1
        nextStep = next
    }

    static func composed(
        _ code: ErrorCode, _ given: String, _ expected: String, _ place: String, _ nextStep: String
    ) -> WalleError {
        WalleError(code, "\(given); expected \(expected) [at \(place)]. Next: \(nextStep)")
    }

    static func argument(
        _ given: String, _ expected: String, _ place: String, _ nextStep: String
    ) -> WalleError {
        composed(.argument, given, expected, place, nextStep)
    }
}

extension WalleError: LocalizedError {
    public var errorDescription: String? { message }
}

/// Calls the C API; what is not `WALLE_OK` is thrown.
func checked(_ call: (UnsafeMutablePointer<walle_error_t>) -> walle_status_t) throws {
    var error = walle_error_t()
    let status = call(&error)
    guard status != WALLE_OK else { return }
    throw WalleError(ErrorCode(rawValue: Int(status.rawValue)) ?? .internal, text(in: error.message))
}

extension String {
    fileprivate func cut(at mark: String, last: Bool) -> (String, String) {
        guard let found = range(of: mark, options: last ? [.literal, .backwards] : .literal) else {
            return (self, "")
        }
        return (String(self[..<found.lowerBound]), String(self[found.upperBound...]))
    }
}
