package walle.rt

import java.nio.ByteBuffer
import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.AtomicLong
import java.util.logging.Level
import java.util.logging.Logger

/**
 * What C calls, by number: jni/callbacks.cc. A number that nobody keeps any more is answered as by nobody.
 * Nothing that an application throws goes back: it becomes an answer, or a line of the log.
 */
internal object Upcalls {
    val log: Logger = Logger.getLogger("walle_rt")

    private val kept = ConcurrentHashMap<Long, Any>()
    private val next = AtomicLong(1)
    private val under = ThreadLocal<Boolean>()

    /** Whether this thread is in a callback of a device. */
    val inCallback: Boolean get() = under.get() == true

    fun keep(target: Any): Long = next.getAndIncrement().also { kept[it] = target }

    fun drop(number: Long) {
        kept.remove(number)
    }

    private inline fun <T> called(or: T, what: String, block: () -> T): T {
        under.set(true)
        try {
            return block()
        } catch (thrown: Exception) {
            log.log(Level.SEVERE, "$what has thrown", thrown)
            return or
        } finally {
            under.remove()
        }
    }

    // -- values -------------------------------------------------------------------------------------------

    @JvmStatic fun error(status: Int, message: String): Throwable =
        WalleException(ErrorCode.entries.getOrElse(status) { ErrorCode.INTERNAL }, message)

    @JvmStatic fun memory(bytes: Long): ByteBuffer = memoryOf(bytes)

    @JvmStatic fun list(items: Array<Any?>): Any = items.asList()

    @JvmStatic fun map(items: Array<Any?>): Any =
        LinkedHashMap<Any?, Any?>().also { for (at in items.indices step 2) it[items[at]] = items[at + 1] }

    @JvmStatic fun tensor(dtype: Int, shape: LongArray, memory: ByteBuffer): Any =
        Tensor.given(DType.entries[dtype], shape, memory)

    // -- the device ---------------------------------------------------------------------------------------

    @JvmStatic fun result(number: Long, fields: Array<Any?>) {
        called(Unit, "a listener") {
            (kept[number] as? Listeners)?.tell(TaskResult.of(fields))
        }
    }

    @JvmStatic fun log(number: Long, task: String, level: Int, line: String) {
        called(Unit, "a log") {
            (kept[number] as? TaskLog)?.line(task, level, line)
        }
    }

    /** {why not, the answer}. */
    @JvmStatic fun app(number: Long, arguments: Array<Any?>): Array<Any?> {
        under.set(true)
        try {
            val function = kept[number] as? AppFunction ?: return arrayOf("the device is closed", null)
            return arrayOf(null, Values.pack(function.call(arguments.asList()), "the answer of a function"))
        } catch (thrown: Exception) {
            return arrayOf("${thrown.javaClass.simpleName}: ${thrown.message}", null)
        } finally {
            under.remove()
        }
    }

    // -- the network --------------------------------------------------------------------------------------

    @JvmStatic fun http(number: Long, sink: Long, texts: Array<String?>, from: Long, body: ByteArray?): Int {
        val transport = kept[number] as? Transport ?: return 0
        val take = BodySink(sink)
        try {
            val headers = (3 until texts.size step 2).map { texts[it].orEmpty() to texts[it + 1].orEmpty() }
            val url = texts[1].orEmpty()
            return called(0, "the transport") {
                if (texts[0] == "GET") transport.get(url, from, headers, take)
                else transport.post(url, texts[2].orEmpty(), body ?: ByteArray(0), headers, take)
            }
        } finally {
            take.end()
        }
    }

    /** {the connection's number, why not}. */
    @JvmStatic fun connect(number: Long, texts: Array<String>, port: Int, timeoutMs: Int): Array<Any?> {
        val transport = kept[number] as? StreamTransport ?: return arrayOf(null, "the device is disconnected")
        under.set(true)
        try {
            val peer = StreamPeer(texts[0], port, timeoutMs, texts[1], texts[2], texts[3])
            return arrayOf(keep(transport.connect(peer)), null)
        } catch (thrown: Exception) {
            return arrayOf(null, thrown.message ?: thrown.javaClass.simpleName)
        } finally {
            under.remove()
        }
    }

    @JvmStatic fun read(connection: Long, to: ByteArray): Int =
        carried { (kept[connection] as StreamConnection).read(to) }

    @JvmStatic fun write(connection: Long, bytes: ByteArray): Int =
        carried { (kept[connection] as StreamConnection).write(bytes) }

    @JvmStatic fun cancel(number: Long, connection: Long) {
        called(Unit, "cancel of a stream") {
            if (connection == 0L) (kept[number] as? StreamTransport)?.cancel()
            else (kept[connection] as? StreamConnection)?.cancel()
        }
    }

    @JvmStatic fun disconnect(connection: Long) {
        called(Unit, "close of a stream") {
            (kept.remove(connection) as? StreamConnection)?.close()
        }
    }

    // -- the device's key ---------------------------------------------------------------------------------

    @JvmStatic fun makeKey(number: Long): String? = called(null, "make of the keys") { keys(number)?.make() }

    @JvmStatic fun requestOf(number: Long, key: String): String? =
        called(null, "request of the keys") { keys(number)?.request(key) }

    @JvmStatic fun isOf(number: Long, key: String, certificate: String): Boolean =
        called(false, "isOf of the keys") { keys(number)?.isOf(key, certificate) == true }

    @JvmStatic fun sign(number: Long, key: String, message: ByteArray): ByteArray? =
        called(null, "sign of the keys") { keys(number)?.sign(key, message) }

    private fun keys(number: Long): Keys? = kept[number] as? Keys

    // A broken connection is no news for the log: the tunnel says why and comes again.
    private inline fun carried(block: () -> Int): Int {
        under.set(true)
        try {
            return block()
        } catch (_: Exception) {
            return -1
        } finally {
            under.remove()
        }
    }
}
