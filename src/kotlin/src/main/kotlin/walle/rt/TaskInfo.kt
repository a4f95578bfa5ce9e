package walle.rt

/**
 * What is known of an installed task. Counts of firings are those since the device was opened.
 *
 * @property status idle, queued, running, waiting (for facts), "set aside" (failed too often in a row) or
 *     broken.
 * @property error the newest failure; of a task that was set aside or is broken, why; "" without one.
 * @property hot whether it has an interpreter, of [heapBytes].
 * @property lostWorkers calls that could not be stopped.
 * @property retries attempts that failed and were put off; [retrying] firings wait, the next is due at
 *     [nextRetry], in microseconds since 1970.
 */
data class TaskInfo(
    val name: String,
    val version: String,
    val status: String,
    val error: String,
    val firings: Long,
    val failures: Long,
    val failuresInRow: Long,
    val hot: Boolean,
    val heapBytes: Long,
    val lostWorkers: Long,
    val waiting: Long,
    val dropped: Long,
    val coalesced: Long,
    val retries: Long,
    val retrying: Long,
    val nextRetry: Long,
) {
    internal companion object {
        fun of(row: Array<Any?>): TaskInfo = with(Fields(row)) {
            TaskInfo(
                text(), text(), text(), text(), number(), number(), number(), flag(), number(), number(),
                number(), number(), number(), number(), number(), number(),
            )
        }
    }
}

/**
 * What one firing of a task has come to.
 *
 * @property number of the firing: 1, 2, 3 ... of the task; a gap in a flow is a firing that was not taken in
 *     time.
 * @property trigger the name of the trigger that fired.
 * @property seq number of the event that completed it.
 * @property ts event time in microseconds since 1970.
 * @property value what the task returned; null after a failure.
 * @property error why it failed, in one text; "" when [ok].
 * @property phase of a failure: "preprocess", "execute" ...
 * @property rows stored result rows.
 * @property sends features that wait to leave the device.
 * @property attempt 1, or of what is tried again 2, 3 ...
 * @property retryAt of a failure, when it is tried again; 0: it is not.
 */
data class TaskResult(
    val task: String,
    val version: String,
    val number: Long,
    val trigger: String,
    val seq: Long,
    val ts: Long,
    val ok: Boolean,
    val value: Any?,
    val error: String,
    val phase: String,
    val rows: Long,
    val sends: Long,
    val preprocessUs: Long,
    val executeUs: Long,
    val postprocessUs: Long,
    val waitedUs: Long,
    val attempt: Long,
    val retryAt: Long,
) {
    internal companion object {
        fun of(row: Array<Any?>): TaskResult = with(Fields(row)) {
            TaskResult(
                text(), text(), number(), text(), number(), number(), flag(), any(), text(), text(),
                number(), number(), number(), number(), number(), number(), number(), number(),
            )
        }
    }
}

/**
 * Something of a device that is gone, told at every open until it is acknowledged.
 *
 * @property what "events", "rows", "sends", "commits", "settled", "tasks", "triggers", "budgets", "accounts",
 *     "kv".
 * @property kind "journal", "damaged_segment", "missing_segment", "quota", "age" or "manifest".
 * @property name the table, the stream, the task, or the reader; "" where it is the device's.
 * @property first number of the first that is gone, [last] of the last; 0 where there are none.
 * @property count how many there were; unless [exact] the most that there can have been.
 * @property noticed when, in microseconds since 1970; 0: at this open.
 */
data class Loss(
    val what: String,
    val kind: String,
    val name: String,
    val first: Long,
    val last: Long,
    val count: Long,
    val exact: Boolean,
    val noticed: Long,
    val cause: String,
) {
    internal companion object {
        fun of(row: Array<Any?>): Loss = with(Fields(row)) {
            Loss(text(), text(), text(), number(), number(), number(), flag(), number(), text())
        }
    }
}

/** Rows of an array that C made, which knows the arrays in it as objects alone. */
@Suppress("UNCHECKED_CAST")
internal fun rowsOf(made: Array<Any?>): List<Array<Any?>> = made.map { it as Array<Any?> }

/** A row of jni/values.h from its front on. */
internal class Fields(private val row: Array<Any?>) {
    private var at = 0

    fun any(): Any? = row[at++]
    fun text(): String = any() as String? ?: ""
    fun number(): Long = any() as Long
    fun flag(): Boolean = any() as Boolean
}
