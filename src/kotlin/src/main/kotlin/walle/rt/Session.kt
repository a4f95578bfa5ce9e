package walle.rt

import java.nio.ByteBuffer
import kotlin.time.Duration
import kotlin.time.DurationUnit
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.awaitCancellation
import kotlinx.coroutines.currentCoroutineContext
import kotlinx.coroutines.ensureActive
import kotlinx.coroutines.launch
import kotlinx.coroutines.withContext

/**
 * A model that is ready to run; [Model.session] makes it.
 *
 * Any thread may use it; its runs follow one another, and those of several sessions run beside each other.
 */
class Session internal constructor(address: Long) : AutoCloseable {
    private val handle = Handle(address, "session", Native::sessionFree).also { Net.watch(this, it) }

    /**
     * Run once, on a thread for what blocks.
     *
     * Cancelling the coroutine ends the run: the step under way is finished first, and only then is the
     * coroutine cancelled, so that the memory of [inputs] and [out] is free again.
     *
     * @param inputs name to tensor of exactly the declared dtype and a fitting shape, used without a copy.
     * @param signature take and give the public names of this signature instead.
     * @param timeout from the call on, waiting for other runs of the session included.
     * @param out tensors for results, of exactly their dtype and shape, apart from each other and the inputs;
     *     what a plan computes is written there without a copy. After an error they hold anything.
     * @return name to tensor, in memory of its own or that of [out].
     * @throws WalleException an input or a name does not fit, memory is short, or the timeout is over.
     */
    suspend fun run(
        inputs: Map<String, Tensor>,
        signature: String? = null,
        timeout: Duration = Duration.INFINITE,
        out: Map<String, Tensor> = emptyMap(),
    ): Map<String, Tensor> {
        val token = Handle(Native.cancelCreate(), "token", Native::cancelFree)
        try {
            return withContext(Dispatchers.IO) {
                // Unconfined: whoever cancels asks the run to end, and waits for no thread to do it.
                val watcher = launch(Dispatchers.Unconfined) {
                    try {
                        awaitCancellation()
                    } finally {
                        token.useIfOpen(Native::cancelRequest)
                    }
                }
                try {
                    token.use("Session.run") { cancel -> run(inputs, signature, timeout, out, cancel) }
                } finally {
                    token.close()
                    watcher.cancel()
                }
            }
        } catch (failed: WalleException) {
            if (failed.code == ErrorCode.CANCELLED) currentCoroutineContext().ensureActive()
            throw failed
        } finally {
            token.close()
        }
    }

    private fun run(
        inputs: Map<String, Tensor>,
        signature: String?,
        timeout: Duration,
        out: Map<String, Tensor>,
        cancel: Long,
    ): Map<String, Tensor> {
        val given = Tensors(inputs)
        val kept = Tensors(out)
        val seconds = secondsOf(timeout, "Session.run")
        val rows = handle.use("Session.run") { session ->
            Native.sessionRun(
                session, signature, seconds, cancel, given.names, given.dtypes, given.shapes, given.memory,
                kept.names, kept.dtypes, kept.shapes, kept.memory,
            )
        }
        return rowsOf(rows).associate { row -> (row[0] as String).let { it to (out[it] ?: tensorOf(row)) } }
    }

    /**
     * Plan ahead for inputs of these shapes, with packed weights: their first run then only runs.
     *
     * @param shapes input name to dtype and shape, every input once.
     */
    suspend fun prepare(shapes: Map<String, Pair<DType, List<Long>>>) {
        val names = shapes.keys.toTypedArray()
        val dtypes = IntArray(names.size) { shapes.getValue(names[it]).first.ordinal }
        val sizes = Array(names.size) { shapes.getValue(names[it]).second.toLongArray() }
        blocking {
            handle.use("Session.prepare") {
                Native.sessionPrepare(it, names, dtypes, sizes, arrayOfNulls(names.size))
            }
        }
    }

    /** What runs where: one line per step of the plans made so far. */
    suspend fun explain(): String = blocking { handle.use("Session.explain", Native::sessionExplain) }

    /** A copy of what the last run left in a state, or of what the session begins with. */
    suspend fun state(name: String): Tensor = blocking {
        handle.use("Session.state") { tensorOf(rowsOf(Native.sessionState(it, name)).single()) }
    }

    /** Give a state other contents, which are copied. */
    suspend fun setState(name: String, value: Tensor) {
        val given = Tensors(mapOf(name to value))
        blocking {
            handle.use("Session.setState") {
                Native.sessionSetState(it, given.names, given.dtypes, given.shapes, given.memory)
            }
        }
    }

    /** All states begin again with what the model says. */
    suspend fun resetStates() = blocking { handle.use("Session.resetStates", Native::sessionResetStates) }

    /** A run under way ends first. Every later call is an error. */
    override fun close() = handle.close()
}

/** Tensors by name as C takes them; see jni/tensors.h. */
private class Tensors(given: Map<String, Tensor>) {
    private val tensors = given.values.toList()
    val names: Array<String> = given.keys.toTypedArray()
    val dtypes = IntArray(tensors.size) { tensors[it].dtype.ordinal }
    val shapes = Array(tensors.size) { tensors[it].sizes }
    val memory = Array<ByteBuffer?>(tensors.size) { tensors[it].memory }
}

private fun tensorOf(row: Array<Any?>): Tensor =
    Tensor.given(DType.of(row[1]), row[2] as LongArray, row[3] as ByteBuffer)

/** As the C API takes a timeout: 0 is none. */
internal fun secondsOf(timeout: Duration, where: String): Double {
    if (timeout <= Duration.ZERO) {
        val given = "a timeout of $timeout"
        throw WalleException.argument(given, "a positive one", where, "leave it out for none")
    }
    return if (timeout.isInfinite()) 0.0 else timeout.toDouble(DurationUnit.SECONDS)
}
