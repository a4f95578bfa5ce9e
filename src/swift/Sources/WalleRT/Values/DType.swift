import CWalle

/// Types of elements, numbered as in model files; see `walle_dtype_t`. "\(DType.float32)" is "float32", as in
/// Python.
public enum DType: Int, Sendable, CaseIterable {
    case undefined, float32, float64, float16, bfloat16
    case int8, int16, int32, int64, uint8, uint16, uint32, uint64, bool
    case float8e4m3fn, float8e4m3fnuz, float8e5m2, float8e5m2fnuz, float8e8m0
    case int4, uint4, int2, uint2, float4e2m1, complex64, complex128

    /// Bytes of one element; 0 of `undefined`.
    public var bytes: Int { walle_dtype_size(native) }

    var native: walle_dtype_t { walle_dtype_t(rawValue: UInt32(rawValue)) }

    init(_ native: walle_dtype_t) {
        self = DType(rawValue: Int(native.rawValue)) ?? .undefined
    }
}

/// Types of Swift that lie in memory as a dtype's elements do.
public protocol TensorElement: Sendable {
    static var dtype: DType { get }
}

extension Float: TensorElement { public static var dtype: DType { .float32 } }
extension Double: TensorElement { public static var dtype: DType { .float64 } }
extension Int8: TensorElement { public static var dtype: DType { .int8 } }
extension Int16: TensorElement { public static var dtype: DType { .int16 } }
extension Int32: TensorElement { public static var dtype: DType { .int32 } }
extension Int64: TensorElement { public static var dtype: DType { .int64 } }
extension Int: TensorElement { public static var dtype: DType { .int64 } }
extension UInt8: TensorElement { public static var dtype: DType { .uint8 } }
extension UInt16: TensorElement { public static var dtype: DType { .uint16 } }
extension UInt32: TensorElement { public static var dtype: DType { .uint32 } }
extension UInt64: TensorElement { public static var dtype: DType { .uint64 } }
extension Bool: TensorElement { public static var dtype: DType { .bool } }
