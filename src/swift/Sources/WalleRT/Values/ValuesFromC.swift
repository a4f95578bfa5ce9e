import CWalle

extension Value {
    /// A copy of it all: what C shows lives as long as a callback or a result.
    ///
    /// - Throws: memory is short.
    init(_ given: walle_vm_value_t) throws {
        switch given.kind {
        case WALLE_KIND_BOOL: self = .bool(given.as.integer != 0)
        case WALLE_KIND_INT: self = .int(Int(given.as.integer))
        case WALLE_KIND_FLOAT: self = .float(given.as.real)
        case WALLE_KIND_STR: self = .text(WalleRT.text(given.as.text, given.size))
        case WALLE_KIND_BYTES: self = .bytes(WalleRT.bytes(given.as.text, given.size))
        case WALLE_KIND_LIST: self = .list(try Value.all(given.as.items, given.size))
        case WALLE_KIND_MAP: self = try Value.map(given)
        case WALLE_KIND_TENSOR: self = .tensor(try Tensor(given.as.tensor.pointee))
        case WALLE_KIND_BUFFER:
            let bytes = WalleRT.bytes(
                walle_vm_buffer_data(given.as.buffer), walle_vm_buffer_size(given.as.buffer))
            self = .buffer(try Memory(bytes))
        default: self = .none
        }
    }

    static func all(_ items: UnsafePointer<walle_vm_value_t>?, _ count: Int) throws -> [Value] {
        try UnsafeBufferPointer(start: items, count: items == nil ? 0 : count).map { try Value($0) }
    }

    private static func map(_ given: walle_vm_value_t) throws -> Value {
        let flat = try all(given.as.items, 2 * given.size)
        let pairs = stride(from: 0, to: flat.count, by: 2).map { (flat[$0].asText ?? "", flat[$0 + 1]) }
        return .map(Dictionary(pairs) { _, last in last })
    }

    /// What a call has left, which is freed.
    static func taking(_ result: OpaquePointer?) throws -> Value {
        defer { walle_vm_result_free(result) }
        return try walle_vm_result_value(result).map { try Value($0.pointee) } ?? .none
    }
}

extension Tensor {
    fileprivate init(_ given: walle_vm_tensor_t) throws {
        let dtype = DType(given.dtype)
        let shape = sizes(in: given.shape, rank: given.rank)
        // The buffer may be longer.
        let size = try Tensor.bytes(of: dtype, shape)
        let contents = WalleRT.bytes(walle_vm_buffer_data(given.buffer), size)
        self.init(given: dtype, shape, try Memory(contents))
    }
}
