package walle.rt

import java.nio.ByteBuffer
import java.nio.ByteOrder

/**
 * A dense row-major tensor over a direct buffer, in the machine's byte order.
 *
 * Models read it and tasks share it without a copy: leave it alone while a run or a call is under way.
 */
class Tensor private constructor(
    val dtype: DType,
    internal val sizes: LongArray,
    internal val memory: ByteBuffer, // all of it; nobody moves its position
) {
    val shape: List<Long> get() = sizes.asList()

    /** The bytes, from the first one on. */
    val data: ByteBuffer get() = memory.duplicate().order(ByteOrder.nativeOrder())

    /** How many elements it has. */
    val size: Int get() = if (dtype.bytes == 0) 0 else memory.capacity() / dtype.bytes

    fun toFloatArray(): FloatArray =
        of(DType.FLOAT32, "toFloatArray").let { FloatArray(size).also { data.asFloatBuffer().get(it) } }

    fun toDoubleArray(): DoubleArray =
        of(DType.FLOAT64, "toDoubleArray").let { DoubleArray(size).also { data.asDoubleBuffer().get(it) } }

    fun toIntArray(): IntArray =
        of(DType.INT32, "toIntArray").let { IntArray(size).also { data.asIntBuffer().get(it) } }

    fun toLongArray(): LongArray =
        of(DType.INT64, "toLongArray").let { LongArray(size).also { data.asLongBuffer().get(it) } }

    fun toBooleanArray(): BooleanArray =
        of(DType.BOOL, "toBooleanArray").let { BooleanArray(size) { at -> memory.get(at) != 0.toByte() } }

    /** The bytes of any dtype. */
    fun toByteArray(): ByteArray = ByteArray(memory.capacity()).also { data.get(it) }

    /** The same memory in another shape; without sizes a scalar. */
    fun reshape(vararg shape: Long): Tensor = wrap(dtype, data, *shape)

    override fun toString(): String = "$dtype$shape"

    private fun of(wanted: DType, where: String) {
        if (dtype == wanted) return
        throw WalleException.argument("a tensor of $dtype", "one of $wanted", "Tensor.$where", "see dtype")
    }

    companion object {
        private const val MAX_RANK = 8

        /** Elements with a shape; without one the tensor has one dimension. They are copied. */
        fun of(values: FloatArray, vararg shape: Long): Tensor =
            made(DType.FLOAT32, values.size, shape) { it.asFloatBuffer().put(values) }

        fun of(values: DoubleArray, vararg shape: Long): Tensor =
            made(DType.FLOAT64, values.size, shape) { it.asDoubleBuffer().put(values) }

        fun of(values: IntArray, vararg shape: Long): Tensor =
            made(DType.INT32, values.size, shape) { it.asIntBuffer().put(values) }

        fun of(values: LongArray, vararg shape: Long): Tensor =
            made(DType.INT64, values.size, shape) { it.asLongBuffer().put(values) }

        fun of(values: BooleanArray, vararg shape: Long): Tensor = made(DType.BOOL, values.size, shape) {
            for (value in values) it.put(if (value) 1 else 0)
        }

        /** All zero: memory for a result, say. */
        fun zeros(dtype: DType, vararg shape: Long): Tensor {
            val bytes = bytesOf(dtype, shape)
            return Tensor(dtype, shape.copyOf(), memoryOf(bytes))
        }

        /**
         * What lies between position and limit of [data], without a copy where it is a direct buffer.
         *
         * @throws WalleException of another size than dtype and shape say.
         */
        fun wrap(dtype: DType, data: ByteBuffer, vararg shape: Long): Tensor {
            val bytes = bytesOf(dtype, shape)
            if (bytes != data.remaining().toLong()) {
                throw WalleException.argument(
                    "${data.remaining()} bytes", "$bytes for $dtype${shape.asList()}", "Tensor.wrap",
                    "set the buffer's position and limit",
                )
            }
            return Tensor(dtype, shape.copyOf(), direct(data))
        }

        internal fun given(dtype: DType, shape: LongArray, memory: ByteBuffer) = Tensor(dtype, shape, memory)

        private fun made(dtype: DType, count: Int, shape: LongArray, fill: (ByteBuffer) -> Unit): Tensor {
            val sizes = if (shape.isEmpty()) longArrayOf(count.toLong()) else shape.copyOf()
            val bytes = bytesOf(dtype, sizes)
            if (bytes != count.toLong() * dtype.bytes) {
                throw WalleException.argument(
                    "$count elements", "as many as ${sizes.asList()} has", "Tensor.of", "check the shape",
                )
            }
            val memory = memoryOf(bytes)
            fill(memory.duplicate().order(ByteOrder.nativeOrder()))
            return Tensor(dtype, sizes, memory)
        }

        private fun bytesOf(dtype: DType, shape: LongArray): Long {
            val text = "$dtype${shape.asList()}"
            if (shape.size > MAX_RANK || shape.any { it < 0 } || dtype == DType.UNDEFINED) {
                val expected = "a dtype, and at most $MAX_RANK dimensions from 0 on"
                throw WalleException.argument(text, expected, "Tensor", "check dtype and shape")
            }
            try {
                return shape.fold(dtype.bytes.toLong(), Math::multiplyExact)
            } catch (_: ArithmeticException) {
                throw WalleException.argument(text, "fewer elements", "Tensor", "check the shape")
            }
        }
    }
}

/** Direct memory in the machine's byte order, all zero. */
internal fun memoryOf(bytes: Long): ByteBuffer {
    if (bytes > Int.MAX_VALUE) {
        throw WalleException.argument("$bytes bytes", "at most ${Int.MAX_VALUE}", "a tensor", "split it")
    }
    return ByteBuffer.allocateDirect(bytes.toInt()).order(ByteOrder.nativeOrder())
}

/** What lies between position and limit as a direct buffer of its own: a view, or a copy of a heap buffer. */
internal fun direct(data: ByteBuffer): ByteBuffer {
    if (data.isDirect) return data.slice()
    val memory = memoryOf(data.remaining().toLong())
    memory.put(data.duplicate())
    memory.clear()
    return memory
}
