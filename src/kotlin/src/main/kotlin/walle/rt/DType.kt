package walle.rt

/** Types of elements, numbered as in model files; see `walle_dtype_t`. */
enum class DType {
    UNDEFINED, FLOAT32, FLOAT64, FLOAT16, BFLOAT16,
    INT8, INT16, INT32, INT64, UINT8, UINT16, UINT32, UINT64, BOOL,
    FLOAT8E4M3FN, FLOAT8E4M3FNUZ, FLOAT8E5M2, FLOAT8E5M2FNUZ, FLOAT8E8M0,
    INT4, UINT4, INT2, UINT2, FLOAT4E2M1, COMPLEX64, COMPLEX128;

    /** Bytes of one element; 0 of [UNDEFINED]. */
    val bytes: Int by lazy { Native.dtypeSize(ordinal) }

    /** "float32", as in Python. */
    override fun toString(): String = name.lowercase()

    internal companion object {
        fun of(number: Any?): DType = entries[(number as Long).toInt()]
    }
}
