import CWalle

/// A dense row-major tensor, in the machine's byte order. Copies share its memory.
public struct Tensor: Sendable, Equatable, CustomStringConvertible {
    static let maxRank = 8

    public let dtype: DType
    public let shape: [Int]
    public let memory: Memory

    /// Elements with a shape; without one the tensor has one dimension. They are copied.
    ///
    /// - Throws: `WalleError` ARGUMENT: another number of elements than the shape has.
    public init<Element: TensorElement>(_ values: [Element], shape: [Int]? = nil) throws {
        let sizes = shape ?? [values.count]
        let bytes = try Tensor.bytes(of: Element.dtype, sizes)
        guard bytes == values.count * Element.dtype.bytes else {
            throw WalleError.argument(
                "\(values.count) elements", "as many as \(sizes) has", "Tensor", "check the shape")
        }
        let memory = try Memory(zeros: bytes)
        values.withUnsafeBytes { given in memory.withUnsafeMutableBytes { $0.copyMemory(from: given) } }
        self.init(given: Element.dtype, sizes, memory)
    }

    /// Memory with a dtype and a shape, which is not copied.
    ///
    /// - Throws: `WalleError` ARGUMENT: of another size than dtype and shape say.
    public init(_ dtype: DType, shape: [Int], memory: Memory) throws {
        let bytes = try Tensor.bytes(of: dtype, shape)
        guard bytes == memory.count else {
            throw WalleError.argument(
                "\(memory.count) bytes", "\(bytes) for \(dtype)\(shape)", "Tensor", "check dtype and shape")
        }
        self.init(given: dtype, shape, memory)
    }

    /// All zero: memory for a result, say.
    public static func zeros(_ dtype: DType, shape: [Int]) throws -> Tensor {
        Tensor(given: dtype, shape, try Memory(zeros: try bytes(of: dtype, shape)))
    }

    init(given dtype: DType, _ shape: [Int], _ memory: Memory) {
        self.dtype = dtype
        self.shape = shape
        self.memory = memory
    }

    /// How many elements it has.
    public var count: Int { dtype.bytes == 0 ? 0 : memory.count / dtype.bytes }

    /// A copy of the elements.
    ///
    /// - Throws: `WalleError` ARGUMENT: the tensor is of another dtype.
    public func toArray<Element: TensorElement>(of type: Element.Type) throws -> [Element] {
        guard Element.dtype == dtype else {
            let given = "a tensor of \(dtype)"
            throw WalleError.argument(given, "one of \(Element.dtype)", "Tensor.toArray", "see dtype")
        }
        // A byte that is neither 0 nor 1 is no Bool of Swift's.
        if let flags = toBytes().map({ $0 != 0 }) as? [Element] { return flags }
        return [Element](unsafeUninitializedCapacity: count) { made, filled in
            memory.withUnsafeBytes { UnsafeMutableRawBufferPointer(made).copyMemory(from: $0) }
            filled = count
        }
    }

    /// A copy of the bytes of any dtype.
    public func toBytes() -> [UInt8] { memory.withUnsafeBytes { [UInt8]($0) } }

    /// The same memory in another shape; `[]` is a scalar's.
    public func reshape(_ shape: [Int]) throws -> Tensor { try Tensor(dtype, shape: shape, memory: memory) }

    public var description: String { "\(dtype)\(shape)" }

    static func bytes(of dtype: DType, _ shape: [Int]) throws -> Int {
        guard shape.count <= maxRank, shape.allSatisfy({ $0 >= 0 }), dtype != .undefined else {
            let expected = "a dtype, and at most \(maxRank) dimensions from 0 on"
            throw WalleError.argument("\(dtype)\(shape)", expected, "Tensor", "check dtype and shape")
        }
        var bytes = dtype.bytes
        for size in shape {
            let (product, over) = bytes.multipliedReportingOverflow(by: size)
            guard !over else {
                throw WalleError.argument("\(dtype)\(shape)", "fewer elements", "Tensor", "check the shape")
            }
            bytes = product
        }
        return bytes
    }
}
