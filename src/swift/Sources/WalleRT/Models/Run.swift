import CWalle

/// One run of a session, from Swift's names to C's and back.
struct Run {
    let inputs: [String: Tensor]
    let signature: String?
    let seconds: Double
    let out: [String: Tensor]

    func run(_ session: OpaquePointer, _ cancel: OpaquePointer) throws -> [String: Tensor] {
        try Arena.with("Session.run") { arena in
            let given = try inputs.map { try arena.tensor($0.key, $0.value) }
            let memory = try out.map { try arena.result($0.key, $0.value) }
            var options = walle_run_options_t()
            options.struct_size = MemoryLayout.size(ofValue: options)
            options.signature = try arena.textOrNull(signature, "a signature")
            options.timeout = seconds
            options.cancel = cancel
            options.memory = UnsafePointer(arena.array(memory))
            options.memory_count = memory.count
            var results: OpaquePointer?
            try checked { error in
                walle_session_run_with(session, &options, arena.array(given), given.count, &results, error)
            }
            defer { walle_results_free(results) }
            return try collected(results)
        }
    }

    private func collected(_ results: OpaquePointer?) throws -> [String: Tensor] {
        var made: [String: Tensor] = [:]
        for index in 0..<walle_results_count(results) {
            var tensor = walle_tensor_t()
            try checked { walle_results_get(results, index, &tensor, $0) }
            let name = text(tensor.name)
            made[name] = try out[name] ?? Tensor(tensor)
        }
        return made
    }
}

/// Ends a run from any thread.
struct CancelToken: Sendable {
    let handle: Handle

    init() throws {
        guard let made = walle_cancel_create() else {
            throw WalleError.composed(.resource, "a run", "memory for it", "Session.run", "free some")
        }
        handle = Handle(made, "run") { walle_cancel_free($0.pointer) }
    }

    func request() {
        handle.useIfOpen { walle_cancel_request($0) }
    }
}

extension Tensor {
    /// A copy of C's.
    init(_ given: walle_tensor_t) throws {
        let memory = try Memory(zeros: given.bytes)
        if let data = given.data {
            memory.withUnsafeMutableBytes { all in
                all.copyMemory(from: UnsafeRawBufferPointer(start: data, count: given.bytes))
            }
        }
        self.init(given: DType(given.dtype), sizes(in: given.shape, rank: given.rank), memory)
    }

    static func result(_ index: Int, of results: OpaquePointer?) throws -> Tensor {
        var tensor = walle_tensor_t()
        try checked { walle_results_get(results, index, &tensor, $0) }
        return try Tensor(tensor)
    }
}

extension Arena {
    func tensor(_ name: String, _ tensor: Tensor) throws -> walle_tensor_t {
        try self.tensor(name, tensor.dtype, tensor.shape, tensor.memory)
    }

    /// - Parameter memory: nil: whatever values it will have.
    func tensor(_ name: String, _ dtype: DType, _ shape: [Int], _ memory: Memory?) throws -> walle_tensor_t {
        _ = try Tensor.bytes(of: dtype, shape)
        var out = walle_tensor_t()
        out.name = try text(name, "the name of a tensor")
        out.dtype = dtype.native
        out.rank = Int32(shape.count)
        store(shape, in: &out.shape)
        if let memory {
            out.data = UnsafeRawPointer(keep(memory))
            out.bytes = memory.count
        }
        return out
    }

    func result(_ name: String, _ tensor: Tensor) throws -> walle_result_memory_t {
        var out = walle_result_memory_t()
        out.name = try text(name, "the name of a result")
        out.dtype = tensor.dtype.native
        out.rank = Int32(tensor.shape.count)
        store(tensor.shape, in: &out.shape)
        out.data = keep(tensor.memory)
        out.bytes = tensor.memory.count
        return out
    }
}

/// As the C API takes a timeout: 0 is none.
func seconds(of timeout: Duration?, _ place: String) throws -> Double {
    guard let timeout else { return 0 }
    guard timeout > .zero else {
        throw WalleError.argument("a timeout of \(timeout)", "a positive one", place, "leave it out for none")
    }
    return timeout / .seconds(1)
}
