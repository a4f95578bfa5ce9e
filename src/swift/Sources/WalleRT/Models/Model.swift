import CWalle

/// Load a model from a `.walle` file; above 1 MiB it stays mapped: replace it by a rename.
///
/// - Throws: `WalleError` RESOURCE: there is no such file; MODEL: it is damaged.
public func load(_ path: String) async throws -> Model {
    try await blocking {
        try Arena.with("load") { arena in
            let file = try arena.text(path, "a path")
            return try Model { walle_model_load(file, $0, $1) }
        }
    }
}

/// Load a model from its bytes, a resource of the app say; they are copied.
public func load(_ bytes: [UInt8]) async throws -> Model {
    try await blocking { try Model { walle_model_parse(bytes, bytes.count, $0, $1) } }
}

/// Give back what the sessions of this process hold between runs, those of tasks included, but for the ones
/// that run just now: for a memory warning, from any thread.
///
/// - Returns: bytes given back.
@discardableResult
public func trim() -> Int { Int(walle_trim()) }

/// A verified model; immutable, shared by any number of sessions and threads. `load` makes it.
public final class Model: Sendable {
    public let inputs: [ValueInfo]
    public let outputs: [ValueInfo]

    /// Inputs with a value of their own, which a run may give another one.
    public let overridableInputs: [ValueInfo]

    /// Values that each session keeps for itself and every run updates.
    public let states: [ValueInfo]

    /// Free text that travels with the model.
    public let metadata: [String: String]
    public let signatures: [String: Signature]

    private let handle: Handle

    init(
        _ make: (UnsafeMutablePointer<OpaquePointer?>, UnsafeMutablePointer<walle_error_t>) -> walle_status_t
    ) throws {
        var made: OpaquePointer?
        try checked { make(&made, $0) }
        let model = made!
        handle = Handle(model, "model") { walle_model_free($0.pointer) }
        inputs = try ValueList.inputs.all(of: model)
        outputs = try ValueList.outputs.all(of: model)
        overridableInputs = try ValueList.overridable.all(of: model)
        states = try ValueList.states.all(of: model)
        let keys = (0..<walle_model_metadata_count(model)).map { text(walle_model_metadata_key(model, $0)) }
        let pairs = keys.map { ($0, text(walle_model_metadata(model, $0))) }
        metadata = Dictionary(pairs) { _, last in last }
        let ways = (0..<walle_model_signature_count(model)).map { Signature(model, $0) }
        signatures = Dictionary(ways.map { ($0.name, $0) }) { _, last in last }
    }

    deinit { handle.close() }

    /// Make the model ready to run.
    ///
    /// - Parameters:
    ///   - backend: where to run, or several in order of preference ("opencl,cpu").
    ///   - threads: at most this many; 0: every processor this process may keep busy.
    ///   - precision: "float32", "auto" or "bf16".
    ///   - accuracy: of faster ways to a result: "strict", "normal" or "fast".
    ///   - tune: of each operator so many of the likeliest choices are measured, 0 to 64.
    ///   - maxPlans: kept of each graph, one per class of shapes.
    ///   - maxPlanBytes: that plans may take together, the newest stays; 0: no bound.
    ///   - planCache: folder of kept decisions, "off": none; nil: what WALLE_PLAN_CACHE says.
    ///   - weightsCache: folder of packed weights, likewise.
    ///   - debug: what to leave out of making a plan, for comparison.
    /// - Throws: `WalleError` ARGUMENT: an option that is none; MODEL: it cannot be prepared.
    public func session(
        backend: String = "cpu",
        threads: Int = 0,
        precision: String = "float32",
        accuracy: String = "normal",
        tune: Int = 0,
        maxPlans: Int = 64,
        maxPlanBytes: Int = 0,
        planCache: String? = nil,
        weightsCache: String? = nil,
        debug: String? = nil
    ) async throws -> Session {
        let handle = handle
        return try await blocking {
            try Arena.with("Model.session") { arena in
                var options = walle_session_options_t()
                options.struct_size = MemoryLayout.size(ofValue: options)
                options.backend = try arena.text(backend, "a backend")
                options.threads = Int32(clamping: threads)
                options.precision = try arena.text(precision, "a precision")
                options.accuracy = try arena.text(accuracy, "an accuracy")
                options.tune = Int32(clamping: tune)
                options.max_plans = Int32(clamping: maxPlans)
                options.max_plan_bytes = Int64(maxPlanBytes)
                options.plan_cache = try arena.textOrNull(planCache, "a folder")
                options.weights_cache = try arena.textOrNull(weightsCache, "a folder")
                options.debug = try arena.textOrNull(debug, "an option")
                var made: OpaquePointer?
                try handle.use("Model.session") { model in
                    try checked { walle_session_create(model, &options, &made, $0) }
                }
                return Session(made!)
            }
        }
    }

    /// Its sessions keep what they need of it. Every later call is an error.
    public func close() { handle.close() }
}
