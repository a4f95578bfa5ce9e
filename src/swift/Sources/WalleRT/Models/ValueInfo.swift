import CWalle

/// What a model declares about an input or output.
public struct ValueInfo: Sendable, Equatable {
    public let name: String
    public let dtype: DType

    /// A size that is not known before run time is nil; nil: the rank is not known.
    public let shape: [Int?]?

    /// Names of dimensions, nil where there is none; equal names are equal sizes within one run.
    public let symbols: [String?]
}

/// A named way to call a model: public names and the graph's own.
public struct Signature: Sendable, Equatable {
    public let name: String
    public let inputs: [String: String]
    public let outputs: [String: String]
}

/// How C lists one kind of a model's values.
struct ValueList {
    let count: (OpaquePointer?) -> Int
    let get: (
        OpaquePointer?, Int, UnsafeMutablePointer<walle_value_info_t>?, UnsafeMutablePointer<walle_error_t>?
    ) -> walle_status_t
    var symbol: ((OpaquePointer?, Int, Int32) -> UnsafePointer<CChar>?)?

    static var inputs: ValueList {
        ValueList(count: walle_model_input_count, get: walle_model_input, symbol: walle_model_input_symbol)
    }
    static var outputs: ValueList {
        ValueList(count: walle_model_output_count, get: walle_model_output, symbol: walle_model_output_symbol)
    }
    static var overridable: ValueList {
        ValueList(count: walle_model_overridable_count, get: walle_model_overridable)
    }
    static var states: ValueList { ValueList(count: walle_model_state_count, get: walle_model_state) }

    func all(of model: OpaquePointer) throws -> [ValueInfo] {
        try (0..<count(model)).map { index in
            var info = walle_value_info_t()
            try checked { get(model, index, &info, $0) }
            let shape = sizes(in: info.shape, rank: info.rank)
            let symbols = shape.indices.map { axis in
                symbol?(model, index, Int32(axis)).map { String(cString: $0) }
            }
            return ValueInfo(
                name: text(info.name), dtype: DType(info.dtype),
                shape: info.rank < 0 ? nil : shape.map { $0 < 0 ? nil : $0 }, symbols: symbols)
        }
    }
}

extension Signature {
    init(_ model: OpaquePointer, _ index: Int) {
        name = text(walle_model_signature_name(model, index))
        inputs = Signature.names { walle_model_signature_input(model, index, $0, $1) }
        outputs = Signature.names { walle_model_signature_output(model, index, $0, $1) }
    }

    private static func names(
        _ next: (Int, UnsafeMutablePointer<UnsafePointer<CChar>?>) -> UnsafePointer<CChar>?
    ) -> [String: String] {
        var out: [String: String] = [:]
        var inside: UnsafePointer<CChar>?
        while let name = next(out.count, &inside) { out[text(name)] = text(inside) }
        return out
    }
}
