package walle.rt.tests

import java.io.File
import java.nio.ByteBuffer
import java.nio.ByteOrder
import java.util.concurrent.atomic.AtomicInteger
import kotlin.time.Duration.Companion.milliseconds
import kotlinx.coroutines.CancellationException
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.delay
import kotlinx.coroutines.launch
import kotlinx.coroutines.withTimeout
import walle.rt.DType
import walle.rt.ErrorCode
import walle.rt.Session
import walle.rt.Tensor
import walle.rt.WalleException
import walle.rt.load
import walle.rt.version

/** Models: matrix.walle is relu(x w) with a signature, counting.walle has a state, rounds.walle runs long. */
class ModelTest(private val folder: File) {
    private val x = Tensor.of(floatArrayOf(1f, 2f, 3f, 4f, -1f, -2f, -3f, -4f), 2, 4)

    suspend fun run() {
        runs()
        keepsStates()
        refusesMistakes()
        isCancelled()
        isClosedUnderThreads()
        convertsValues()
    }

    /** Row by column over w = -6 ... 5. */
    private fun expected(row: List<Float>): List<Float> =
        (0..2).map { j -> maxOf(0f, (0..3).map { i -> row[i] * (3 * i + j - 6) }.sum()) }

    private suspend fun runs() {
        promise(version.isNotEmpty(), "the library has a version")
        load(File(folder, "matrix.walle")).use { model ->
            val inputs = model.inputs.map { it.name to it.dtype }
            same(inputs, listOf("x" to DType.FLOAT32), "inputs are declared")
            same(model.inputs[0].shape, listOf(null, 4L), "a size that is not known is null")
            same(model.inputs[0].symbols, listOf("n", null), "and has a name")
            same(model.signatures["serve"]?.inputs, mapOf("in" to "x"), "signatures have names of their own")
            promise(model.metadata.isNotEmpty(), "metadata travels along")
            model.session(threads = 1).use { session -> runsOf(session) }
        }
        val bytes = File(folder, "matrix.walle").readBytes()
        load(bytes).use { same(it.outputs.map { out -> out.name }, listOf("y"), "bytes are a model, too") }
    }

    private suspend fun runsOf(session: Session) {
        val wanted = expected(listOf(1f, 2f, 3f, 4f)) + expected(listOf(-1f, -2f, -3f, -4f))
        val out = session.run(mapOf("x" to x)).getValue("y")
        same(out.shape, listOf(2L, 3L), "a result has its shape")
        same(out.toFloatArray().toList(), wanted, "and its numbers")
        val served = session.run(mapOf("in" to x), "serve")
        same(served.keys, setOf("out"), "a signature takes and gives its names")
        val memory = Tensor.zeros(DType.FLOAT32, 2, 3)
        val given = session.run(mapOf("x" to x), out = mapOf("y" to memory)).getValue("y")
        promise(given === memory, "a result may have memory of the caller's")
        same(memory.toFloatArray().toList(), wanted, "which then holds it")
        val direct = ByteBuffer.allocateDirect(20).order(ByteOrder.nativeOrder())
        for (at in 0..4) direct.putFloat(if (at == 0) 9f else at.toFloat())
        direct.position(4)
        val view = Tensor.wrap(DType.FLOAT32, direct, 1, 4)
        same(
            session.run(mapOf("x" to view)).getValue("y").toFloatArray().toList(), wanted.take(3),
            "a direct buffer is read from its position on",
        )
        direct.putFloat(4, 100f)
        promise(
            session.run(mapOf("x" to view)).getValue("y").toFloatArray().toList() != wanted.take(3),
            "and is not copied",
        )
        session.prepare(mapOf("x" to (DType.FLOAT32 to listOf(7L, 4L))))
        promise("MatMul" in session.explain() || "gemm" in session.explain(), "a session explains itself")
        same(
            session.run(mapOf("x" to Tensor.zeros(DType.FLOAT32, 0, 4))).getValue("y").shape, listOf(0L, 3L),
            "nothing in, nothing out",
        )
    }

    private suspend fun keepsStates() {
        load(File(folder, "counting.walle")).use { model ->
            same(model.states.map { it.name }, listOf("total"), "states are declared")
            model.session(threads = 1).use { session ->
                session.run(mapOf("x" to Tensor.of(floatArrayOf(1f, 2f))))
                same(session.state("total").toFloatArray().toList(), listOf(3f), "a state is kept")
                session.setState("total", Tensor.of(floatArrayOf(5f)))
                val seen = session.run(mapOf("x" to Tensor.of(floatArrayOf(0f)))).getValue("seen")
                same(seen.toFloatArray().toList(), listOf(25f), "and may be set")
                session.resetStates()
                same(session.state("total").toFloatArray().toList(), listOf(0f), "and begins again")
            }
        }
    }

    private suspend fun refusesMistakes() {
        refused(ErrorCode.RESOURCE, "absent.walle", "a file that is missing is named") {
            load(File(folder, "absent.walle"))
        }
        val error = refused(ErrorCode.MODEL, "", "a file that is none is refused") { load(ByteArray(64)) }
        val parts = listOf(error?.given, error?.expected, error?.nextStep)
        promise(parts.none { it.isNullOrEmpty() }, "an error says what was given, expected and what to do")
        val bytes = File(folder, "matrix.walle").readBytes()
        bytes[bytes.size / 2] = (bytes[bytes.size / 2] + 1).toByte()
        refused(ErrorCode.MODEL, "", "so is one that was damaged") { load(bytes) }
        refused(ErrorCode.MODEL, "", "and one that was cut") { load(bytes.copyOf(bytes.size / 2)) }
        refused(ErrorCode.ARGUMENT, "code 0", "a path ends where it says") {
            load(File(folder, "matrix.walle\u0000more"))
        }
        load(File(folder, "matrix.walle")).use { model ->
            refused(ErrorCode.ARGUMENT, "precision", "an option that is none is named") {
                model.session(precision = "half")
            }
            model.session(threads = 1).use { session ->
                refused(ErrorCode.ARGUMENT, "'z'", "so is another input") { session.run(mapOf("z" to x)) }
                refused(ErrorCode.ARGUMENT, "x", "and one of another dtype") {
                    session.run(mapOf("x" to Tensor.of(intArrayOf(1, 2, 3, 4), 1, 4)))
                }
                refused(ErrorCode.ARGUMENT, "timeout", "a timeout is positive") {
                    session.run(mapOf("x" to x), timeout = 0.milliseconds)
                }
            }
        }
        refused(ErrorCode.ARGUMENT, "elements", "a shape has as many elements") {
            Tensor.of(floatArrayOf(1f, 2f), 3)
        }
        refused(ErrorCode.ARGUMENT, "bytes", "and a buffer as many bytes") {
            Tensor.wrap(DType.FLOAT32, ByteBuffer.allocateDirect(7), 2)
        }
        refused(ErrorCode.ARGUMENT, "fewer", "and no more than there are numbers for") {
            Tensor.zeros(DType.FLOAT32, Long.MAX_VALUE, 2)
        }
        refused(ErrorCode.ARGUMENT, "int32", "numbers are read as what they are") { x.toIntArray() }
    }

    private val forever = mapOf(
        "n" to Tensor.of(longArrayOf(1_000_000_000_000L)).reshape(),
        "x" to Tensor.of(floatArrayOf(0.5f, 0.5f)),
    )
    private val few = forever + ("n" to Tensor.of(longArrayOf(3L)).reshape())

    private suspend fun isCancelled() = coroutineScope {
        load(File(folder, "rounds.walle")).use { model ->
            val session = model.session(threads = 1)
            val out = Tensor.zeros(DType.FLOAT32, 2)
            var thrown: Throwable? = null
            val running = launch {
                try {
                    session.run(forever, out = mapOf("y" to out))
                } catch (cancelled: CancellationException) {
                    thrown = cancelled
                    throw cancelled
                }
            }
            delay(100)
            withTimeout(120_000) { running.cancelAndJoin() }
            promise(thrown is CancellationException, "a coroutine that is cancelled ends its run")
            out.data.putFloat(0, 7f)
            session.run(few)
            promise(out.data.getFloat(0) == 7f, "memory is free behind it, and the session goes on")
            refused(ErrorCode.TIMEOUT, "", "a run ends at its timeout") {
                session.run(forever, timeout = 50.milliseconds)
            }
            val two = List(2) { launch { session.run(forever) } }
            delay(100)
            withTimeout(120_000) { two.forEach { it.cancelAndJoin() } }
            promise(session.run(few).isNotEmpty(), "so does one that waits for another, and never begins")
            session.close()
        }
    }

    private suspend fun isClosedUnderThreads() = coroutineScope {
        val model = load(File(folder, "matrix.walle"))
        val session = model.session(threads = 1)
        model.close()
        model.close()
        same(session.run(mapOf("x" to x)).size, 1, "a session outlives its model")
        refused(ErrorCode.ARGUMENT, "a closed model", "a closed model makes none") { model.session() }
        val ran = AtomicInteger()
        val told = AtomicInteger()
        val threads = List(4) {
            launch(Dispatchers.Default) {
                while (true) {
                    try {
                        session.run(mapOf("x" to x))
                        ran.incrementAndGet()
                    } catch (closed: WalleException) {
                        if (closed.code == ErrorCode.ARGUMENT) told.incrementAndGet()
                        break
                    }
                }
            }
        }
        until { ran.get() > 20 }
        session.close()
        threads.forEach { it.join() }
        same(told.get(), 4, "a session that is closed under four threads is an error for each")
        val long = load(File(folder, "rounds.walle")).use { it.session(threads = 1) }
        val running = launch { long.run(forever) }
        delay(100)
        long.close()
        running.cancelAndJoin()
        refused(ErrorCode.ARGUMENT, "a closed session", "one that runs ends first") { long.explain() }
    }

    private suspend fun convertsValues() {
        val flags = listOf(true, false)
        same(Tensor.of(flags.toBooleanArray()).toBooleanArray().toList(), flags, "booleans")
        same(Tensor.of(doubleArrayOf(0.5)).toDoubleArray().toList(), listOf(0.5), "doubles")
        same(Tensor.of(longArrayOf(1, 2), 2, 1).toString(), "int64[2, 1]", "and their names")
        same(DType.entries.map { it.toString() }.filter { it == "bfloat16" }.size, 1, "dtypes are Python's")
        promise(DType.FLOAT32.bytes == 4 && DType.COMPLEX128.bytes == 16, "and have sizes")
    }
}
