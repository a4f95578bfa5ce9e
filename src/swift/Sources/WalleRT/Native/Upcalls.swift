import CWalle

/// Whom libwalle calls, by number: what it is given as `user` is looked up here, so that a callback that
/// comes late finds nobody instead of freed memory. Nothing that an app throws goes back: it becomes an
/// answer.
enum Upcalls {
    private struct Kept {
        var next: UInt = 1
        var targets: [UInt: any Sendable] = [:]
    }

    private static let kept = Lock(Kept())

    static func keep(_ target: any Sendable) -> UInt {
        kept.with { kept in
            defer { kept.next += 1 }
            kept.targets[kept.next] = target
            return kept.next
        }
    }

    @discardableResult
    static func drop(_ number: UInt) -> (any Sendable)? {
        kept.with { $0.targets.removeValue(forKey: number) }
    }

    static func user(_ number: UInt) -> UnsafeMutableRawPointer? {
        UnsafeMutableRawPointer(bitPattern: number)
    }

    static func number(_ user: UnsafeMutableRawPointer?) -> UInt { UInt(bitPattern: user) }

    static func target<T>(_ user: UnsafeMutableRawPointer?, _ type: T.Type = T.self) -> T? {
        kept.with { $0.targets[number(user)] } as? T
    }
}
