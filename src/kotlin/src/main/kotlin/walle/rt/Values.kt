package walle.rt

import java.nio.ByteBuffer

/** A list, a map, a tensor or a buffer on its way to C; see jni/values.h. */
internal class Packed(
    @JvmField val kind: Int,
    @JvmField val items: Array<Any?>? = null,
    @JvmField val dtype: Int = 0,
    @JvmField val shape: LongArray? = null,
    @JvmField val memory: ByteBuffer? = null,
)

/** Values for tasks, as C takes them: null, Boolean, Long, Double, String, ByteArray, [Packed]. */
internal object Values {
    // As `walle_vm_kind_t` numbers them.
    private const val LIST = 6
    private const val MAP = 7
    private const val TENSOR = 8
    private const val BUFFER = 9

    // As deep as C reads a value; a list that holds itself ends here instead of with the stack.
    private const val MAX_DEPTH = 64

    fun pack(value: Any?, where: String, depth: Int = 0): Any? = when (value) {
        null, is Boolean, is Long, is Double, is String, is ByteArray -> value
        is Int, is Short, is Byte -> (value as Number).toLong()
        is Float -> value.toDouble()
        is Tensor -> Packed(TENSOR, null, value.dtype.ordinal, value.sizes, value.memory)
        is ByteBuffer -> Packed(BUFFER, memory = direct(value))
        is Iterable<*> -> list(value, where, depth)
        is Array<*> -> list(value.asList(), where, depth)
        is Map<*, *> -> map(value, where, depth)
        else -> throw WalleException.argument(
            "a value of ${value.javaClass.name}",
            "null, Boolean, Int, Long, Float, Double, String, ByteArray, List, Map, Tensor or ByteBuffer",
            where, "convert it, an array of numbers by Tensor.of or toList()",
        )
    }

    fun packAll(values: Array<out Any?>, where: String): Array<Any?> =
        Array(values.size) { pack(values[it], where) }

    private fun list(values: Iterable<*>, where: String, depth: Int): Packed {
        checkDepth(depth, where)
        return Packed(LIST, values.map { pack(it, where, depth + 1) }.toTypedArray())
    }

    private fun map(values: Map<*, *>, where: String, depth: Int): Packed {
        checkDepth(depth, where)
        val items = arrayOfNulls<Any?>(2 * values.size)
        values.entries.forEachIndexed { at, (key, value) ->
            if (key !is String) {
                val given = "a map with the key $key"
                throw WalleException.argument(given, "keys that are String", where, "rename it")
            }
            items[2 * at] = key
            items[2 * at + 1] = pack(value, where, depth + 1)
        }
        return Packed(MAP, items)
    }

    private fun checkDepth(depth: Int, where: String) {
        if (depth > MAX_DEPTH) {
            val given = "a value nested deeper than $MAX_DEPTH levels"
            throw WalleException.argument(given, "a flatter value", where, "leave out what holds itself")
        }
    }
}
