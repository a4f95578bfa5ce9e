import CWalle

/// A text of C; "" of none.
func text(_ pointer: UnsafePointer<CChar>?) -> String {
    pointer.map { String(cString: $0) } ?? ""
}

/// So many bytes of UTF-8. What is none becomes U+FFFD.
func text(_ pointer: UnsafePointer<CChar>?, _ size: Int) -> String {
    String(decoding: UnsafeRawBufferPointer(start: pointer, count: pointer == nil ? 0 : size), as: UTF8.self)
}

/// An array of characters inside a struct, which Swift knows as a tuple, up to its zero.
func text<Characters>(in characters: Characters) -> String {
    withUnsafeBytes(of: characters) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
}

/// So many bytes of C.
func bytes(_ pointer: UnsafeRawPointer?, _ size: Int) -> [UInt8] {
    [UInt8](UnsafeRawBufferPointer(start: pointer, count: pointer == nil ? 0 : size))
}

/// The first sizes of a shape inside a struct.
func sizes<Shape>(in shape: Shape, rank: Int32) -> [Int] {
    withUnsafeBytes(of: shape) { raw in
        let all = raw.bindMemory(to: Int64.self)
        return (0..<max(0, min(Int(rank), all.count))).map { Int(all[$0]) }
    }
}

/// And back.
func store<Shape>(_ sizes: [Int], in shape: inout Shape) {
    withUnsafeMutableBytes(of: &shape) { raw in
        let all = raw.bindMemory(to: Int64.self)
        for (at, size) in sizes.prefix(all.count).enumerated() { all[at] = Int64(size) }
    }
}
