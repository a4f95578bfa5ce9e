import Foundation

/// Bytes that models read and tasks share without a copy: leave them alone while a run or a call is under
/// way.
public final class Memory: @unchecked Sendable {
    let base: UnsafeMutableRawPointer
    public let count: Int
    private let owner: AnyObject?

    /// All zero.
    ///
    /// - Throws: `WalleError` ARGUMENT: fewer bytes than none; RESOURCE: memory is short.
    public init(zeros count: Int) throws {
        guard count >= 0 else {
            throw WalleError.argument("\(count) bytes", "a number from 0 on", "Memory", "check the size")
        }
        guard let made = calloc(max(1, count), 1) else {
            throw WalleError.composed(
                .resource, "\(count) bytes", "as many as are free", "Memory", "split what needs them")
        }
        base = made
        self.count = count
        owner = nil
    }

    /// A copy.
    public convenience init(_ bytes: [UInt8]) throws {
        try self.init(zeros: bytes.count)
        withUnsafeMutableBytes { $0.copyBytes(from: bytes) }
    }

    /// Memory of somebody else's, without a copy.
    ///
    /// - Parameter owner: who frees it; is held as long as this.
    public init(_ bytes: UnsafeMutableRawBufferPointer, owner: AnyObject) throws {
        if let given = bytes.baseAddress {
            base = given
            self.owner = owner
        } else {
            guard let made = calloc(1, 1) else {
                throw WalleError.composed(.resource, "1 byte", "as much as is free", "Memory", "free some")
            }
            base = made
            self.owner = nil
        }
        count = bytes.count
    }

    deinit {
        if owner == nil { free(base) }
    }

    public func withUnsafeBytes<T>(_ body: (UnsafeRawBufferPointer) throws -> T) rethrows -> T {
        try withExtendedLifetime(self) { try body(UnsafeRawBufferPointer(start: base, count: count)) }
    }

    public func withUnsafeMutableBytes<T>(_ body: (UnsafeMutableRawBufferPointer) throws -> T) rethrows -> T {
        try withExtendedLifetime(self) { try body(UnsafeMutableRawBufferPointer(start: base, count: count)) }
    }
}

extension Memory: Equatable {
    /// The same bytes.
    public static func == (one: Memory, other: Memory) -> Bool {
        one === other
            || one.withUnsafeBytes { mine in other.withUnsafeBytes { mine.elementsEqual($0) } }
    }
}
