import CWalle

extension Arena {
    // As deep as C reads a value; what is deeper ends here instead of with the stack.
    private static let maxDepth = 64

    func values(_ given: [Value]) throws -> UnsafeMutablePointer<walle_vm_value_t> {
        array(try given.map { try value($0) })
    }

    func value(_ given: Value, depth: Int = 0) throws -> walle_vm_value_t {
        var out = walle_vm_value_t()
        switch given {
        case .none: out.kind = WALLE_KIND_NONE
        case .bool(let value):
            out.kind = WALLE_KIND_BOOL
            out.as.integer = value ? 1 : 0
        case .int(let value):
            out.kind = WALLE_KIND_INT
            out.as.integer = Int64(value)
        case .float(let value):
            out.kind = WALLE_KIND_FLOAT
            out.as.real = value
        case .text(let value): put([UInt8](value.utf8), WALLE_KIND_STR, &out)
        case .bytes(let value): put(value, WALLE_KIND_BYTES, &out)
        case .list(let value):
            out.kind = WALLE_KIND_LIST
            out.size = value.count
            out.as.items = UnsafePointer(try items(value, depth))
        case .map(let value):
            out.kind = WALLE_KIND_MAP
            out.size = value.count
            out.as.items = UnsafePointer(try items(value.flatMap { [.text($0.key), $0.value] }, depth))
        case .tensor(let value):
            out.kind = WALLE_KIND_TENSOR
            out.as.tensor = UnsafePointer(array([try tensor(value)]))
        case .buffer(let value):
            out.kind = WALLE_KIND_BUFFER
            out.as.buffer = try buffer(value)
        }
        return out
    }

    private func put(_ bytes: [UInt8], _ kind: walle_vm_kind_t, _ out: inout walle_vm_value_t) {
        out.kind = kind
        out.size = bytes.count
        out.as.text = UnsafePointer(array(bytes.map { CChar(bitPattern: $0) }))
    }

    private func items(_ given: [Value], _ depth: Int) throws -> UnsafeMutablePointer<walle_vm_value_t> {
        guard depth <= Arena.maxDepth else {
            let given = "a value nested deeper than \(Arena.maxDepth) levels"
            throw WalleError.argument(given, "a flatter value", place, "flatten it")
        }
        return array(try given.map { try value($0, depth: depth + 1) })
    }

    private func tensor(_ given: Tensor) throws -> walle_vm_tensor_t {
        var out = walle_vm_tensor_t()
        out.dtype = given.dtype.native
        out.rank = Int32(given.shape.count)
        store(given.shape, in: &out.shape)
        out.buffer = try buffer(given.memory)
        return out
    }
}
