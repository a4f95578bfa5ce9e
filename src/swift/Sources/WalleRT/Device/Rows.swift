import CWalle

/// One row of a result table: its number, when it came (microseconds since 1970), and its values by column.
public struct Row: Sendable, Equatable {
    public let number: Int
    public let ts: Int
    public let values: [String: Value]

    /// None where the row has none, or there is no such column.
    public subscript(column: String) -> Value { values[column] ?? .none }
}

/// One column of rows that were read.
public struct Column: Sendable, Equatable {
    /// An entry per row; 0, false or "" where the row has none.
    public enum Values: Sendable, Equatable {
        case ints([Int])
        case floats([Double])
        case bools([Bool])
        case texts([String])
        case bytes([[UInt8]])
    }

    public let name: String
    public let type: ColumnType
    public let values: Values

    /// Whether each row has a value.
    public let present: [Bool]

    /// The value of a row; none where the row has none.
    public subscript(row: Int) -> Value {
        guard present[row] else { return .none }
        return switch values {
        case .ints(let all): .int(all[row])
        case .floats(let all): .float(all[row])
        case .bools(let all): .bool(all[row])
        case .texts(let all): .text(all[row])
        case .bytes(let all): .bytes(all[row])
        }
    }
}

/// Rows that were read, oldest first, as columns; iterate for rows.
public struct Rows: Sendable, RandomAccessCollection {
    public let numbers: [Int]
    public let times: [Int]
    public let columns: [Column]

    public var startIndex: Int { 0 }
    public var endIndex: Int { numbers.count }

    /// - Throws: `WalleError` ARGUMENT: there is no such column.
    public func column(_ name: String) throws -> Column {
        if let found = columns.first(where: { $0.name == name }) { return found }
        let known = columns.map(\.name).joined(separator: ", ")
        throw WalleError.argument("column '\(name)'", "one of: \(known)", "Rows.column", "check the spelling")
    }

    public subscript(row: Int) -> Row {
        let values = columns.map { ($0.name, $0[row]) }
        return Row(
            number: numbers[row], ts: times[row], values: Dictionary(values) { first, _ in first })
    }
}

extension Rows {
    /// A copy of C's.
    init(_ rows: OpaquePointer?) {
        let count = walle_device_rows_count(rows)
        numbers = list(walle_device_rows_numbers(rows), count) { Int(clamping: $0) }
        times = list(walle_device_rows_times(rows), count) { Int($0) }
        columns = (0..<walle_device_rows_columns(rows)).compactMap { index in
            walle_device_rows_column(rows, index).map { Column($0.pointee, count) }
        }
    }
}

extension Column {
    init(_ c: walle_column_t, _ count: Int) {
        name = text(c.name)
        type = ColumnType(rawValue: Int(c.type.rawValue)) ?? .bytes
        present = list(c.present, count) { $0 != 0 }
        values =
            switch type {
            case .int: .ints(list(c.ints, count) { Int($0) })
            case .float: .floats(list(c.floats, count) { $0 })
            case .bool: .bools(list(c.bools, count) { $0 != 0 })
            case .text: .texts(list(c.texts, count) { WalleRT.text($0.data, $0.size) })
            case .bytes: .bytes(list(c.texts, count) { WalleRT.bytes($0.data, $0.size) })
            }
    }
}

private func list<C, T>(_ first: UnsafePointer<C>?, _ count: Int, _ made: (C) -> T) -> [T] {
    UnsafeBufferPointer(start: first, count: first == nil ? 0 : count).map(made)
}
