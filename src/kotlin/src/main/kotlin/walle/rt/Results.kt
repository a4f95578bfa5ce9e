package walle.rt

import kotlinx.coroutines.channels.Channel
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.flow

/** Types of fields and columns, numbered as in `walle_column_type_t`. [BYTES] are of columns alone. */
enum class ColumnType { INT, FLOAT, BOOL, TEXT, BYTES }

/**
 * One row of a result table: its number, when it came (microseconds since 1970), and its values by column.
 */
data class Row(val number: Long, val ts: Long, val values: Map<String, Any?>) {
    operator fun get(column: String): Any? = values[column]
}

/**
 * One column of rows that were read.
 *
 * @property values a LongArray, DoubleArray, BooleanArray, or a List of String or ByteArray: an entry per
 *     row.
 */
class Column internal constructor(
    val name: String,
    val type: ColumnType,
    val values: Any,
    private val present: ByteArray,
) {
    /** The value of a row; null where the row has none. */
    operator fun get(row: Int): Any? = if (present[row] == 0.toByte()) null else when (values) {
        is LongArray -> values[row]
        is DoubleArray -> values[row]
        is BooleanArray -> values[row]
        else -> (values as List<*>)[row]
    }
}

/** Rows that were read, oldest first, as columns; iterate for rows. */
class Rows internal constructor(val numbers: LongArray, val times: LongArray, val columns: List<Column>) :
    Iterable<Row> {
    val size: Int get() = numbers.size

    /** @throws WalleException there is no such column. */
    fun column(name: String): Column = columns.find { it.name == name } ?: throw WalleException.argument(
        "column '$name'", "one of: ${columns.joinToString { it.name }}", "Rows.column", "check the spelling",
    )

    operator fun get(row: Int): Row =
        Row(numbers[row], times[row], columns.associate { it.name to it[row] })

    override fun iterator(): Iterator<Row> = (0 until size).asSequence().map(::get).iterator()

    internal companion object {
        fun of(read: Array<Any?>): Rows =
            Rows(read[0] as LongArray, read[1] as LongArray, read.drop(2).map { column(it as Array<*>) })

        private fun column(row: Array<*>): Column {
            val type = ColumnType.entries[(row[1] as Long).toInt()]
            val values: Any = when (val contents = row[3]) {
                is ByteArray -> BooleanArray(contents.size) { contents[it] != 0.toByte() }
                is Array<*> -> contents.asList()
                else -> contents!!
            }
            return Column(row[0] as String, type, values, row[2] as ByteArray)
        }
    }
}

/** One result table of a task. Reading sees every firing that a callback or [Device.wait] has told of. */
class Results internal constructor(private val device: Device, val task: String, val table: String) {
    /**
     * Rows with numbers from [start] on, oldest first.
     *
     * @param limit how many at most; 0: all.
     * @throws WalleException there is no such table, or the device is closed.
     */
    suspend fun read(start: Long = 0, limit: Long = 0): Rows = device.read(task, table, start, limit)

    /** Every row there is, those that come meanwhile included. */
    fun rows(start: Long = 0): Flow<Row> = flow {
        var next = start
        while (true) {
            val read = read(next, ROWS_AT_ONCE)
            for (row in read) emit(row)
            if (read.size == 0) break
            next = read.numbers.last() + 1
        }
    }

    /**
     * Every row there is, and then those to come, until the device is closed: none is missed, none comes
     * twice. What was not taken by then is there at the next open, behind the last number.
     */
    fun follow(start: Long = 0): Flow<Row> = flow {
        val news = Channel<Unit>(Channel.CONFLATED)
        val listening = device.listen(task, { news.trySend(Unit) }, { news.close() })
        try {
            var next = start
            do {
                val read = readOrNull(next) ?: break
                for (row in read) emit(row)
                if (read.size > 0) next = read.numbers.last() + 1
            } while (read.size > 0 || news.receiveCatching().isSuccess)
        } finally {
            listening.close()
        }
    }

    /** Null: the device was closed meanwhile. */
    private suspend fun readOrNull(start: Long): Rows? = try {
        read(start, ROWS_AT_ONCE)
    } catch (failed: WalleException) {
        if (device.closed) null else throw failed
    }

    private companion object {
        // One read of a flow: enough that a row costs no look-up of its own, little beside a device's memory.
        const val ROWS_AT_ONCE = 4096L
    }
}
