import CWalle

/// A model that is ready to run; `Model.session` makes it.
///
/// Any thread may use it; its runs follow one another, and those of several sessions run beside each other.
public final class Session: Sendable {
    private let handle: Handle
    private let explaining = Lock(())

    init(_ session: OpaquePointer) {
        handle = Handle(session, "session") { walle_session_free($0.pointer) }
    }

    deinit { handle.close() }

    /// Run once.
    ///
    /// Cancelling the task ends the run: the step under way is finished first, and only then is
    /// `CancellationError` thrown, so that the memory of `inputs` and `out` is free again.
    ///
    /// - Parameters:
    ///   - inputs: name to tensor of exactly the declared dtype and a fitting shape, used without a copy.
    ///   - signature: take and give the public names of this signature instead.
    ///   - timeout: from the call on, waiting for other runs of the session included; nil: none.
    ///   - out: tensors for results, of exactly their dtype and shape, apart from each other and the inputs;
    ///     what a plan computes is written there without a copy. After an error they hold anything.
    /// - Returns: name to tensor, in memory of its own or that of `out`.
    /// - Throws: `WalleError` ARGUMENT: an input or a name does not fit; RESOURCE: memory is short; TIMEOUT.
    public func run(
        _ inputs: [String: Tensor],
        signature: String? = nil,
        timeout: Duration? = nil,
        out: [String: Tensor] = [:]
    ) async throws -> [String: Tensor] {
        let limit = try seconds(of: timeout, "Session.run")
        let token = try CancelToken()
        let handle = handle
        do {
            return try await withTaskCancellationHandler {
                try await blocking {
                    try handle.use("Session.run") { session in
                        try token.handle.use("Session.run") { cancel in
                            try Run(inputs: inputs, signature: signature, seconds: limit, out: out)
                                .run(session, cancel)
                        }
                    }
                }
            } onCancel: {
                token.request()
            }
        } catch let failed as WalleError where failed.code == .cancelled {
            try Task.checkCancellation()
            throw failed
        }
    }

    /// Plan ahead for inputs of these shapes, with packed weights: their first run then only runs.
    ///
    /// - Parameter shapes: input name to dtype and shape, every input once.
    public func prepare(_ shapes: [String: (DType, [Int])]) async throws {
        let wanted = shapes.mapValues { Shape(dtype: $0.0, sizes: $0.1) }
        try await used("prepare") { session, arena in
            let inputs = try wanted.map { try arena.tensor($0.key, $0.value.dtype, $0.value.sizes, nil) }
            try checked { walle_session_prepare(session, arena.array(inputs), inputs.count, $0) }
        }
    }

    /// What runs where: one line per step of the plans made so far.
    public func explain() async throws -> String {
        let explaining = explaining
        return try await used("explain") { session, _ in
            // The text lives until the next call.
            try explaining.with { _ in
                var made: UnsafePointer<CChar>?
                try checked { walle_session_explain(session, &made, $0) }
                return text(made)
            }
        }
    }

    /// A copy of what the last run left in a state, or of what the session begins with.
    public func state(_ name: String) async throws -> Tensor {
        try await used("state") { session, arena in
            let called = try arena.text(name, "the name of a state")
            var contents: OpaquePointer?
            try checked { walle_session_state(session, called, &contents, $0) }
            defer { walle_results_free(contents) }
            return try Tensor.result(0, of: contents)
        }
    }

    /// Give a state other contents, which are copied.
    public func setState(_ name: String, _ value: Tensor) async throws {
        try await used("setState") { session, arena in
            var given = try arena.tensor(name, value)
            try checked { walle_session_set_state(session, &given, $0) }
        }
    }

    /// All states begin again with what the model says.
    public func resetStates() async throws {
        try await used("resetStates") { session, _ in
            try checked { walle_session_reset_states(session, $0) }
        }
    }

    /// Give back what the session holds between runs and makes again with its next one; states stay.
    ///
    /// - Returns: bytes given back.
    @discardableResult
    public func trim() async throws -> Int {
        try await used("trim") { session, _ in
            var bytes: Int64 = 0
            try checked { walle_session_trim(session, &bytes, $0) }
            return Int(bytes)
        }
    }

    /// A run under way ends first. Every later call is an error.
    public func close() { handle.close() }

    private func used<T: Sendable>(
        _ function: String, _ block: @escaping @Sendable (OpaquePointer, Arena) throws -> T
    ) async throws -> T {
        let (handle, place) = (handle, "Session.\(function)")
        return try await blocking {
            try Arena.with(place) { arena in try handle.use(place) { try block($0, arena) } }
        }
    }
}

private struct Shape: Sendable {
    let dtype: DType
    let sizes: [Int]
}
