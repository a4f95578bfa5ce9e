package walle.rt

/**
 * The other end of a stream, and what TLS believes and shows: paths of PEM files in the device's folder.
 *
 * @property host whose name or address the peer's certificate must have.
 * @property timeoutMs connect returns within it.
 * @property authorities who must have signed the peer's certificate: these and nobody else.
 * @property certificate the device's own, with its [key]: the peer asks for them.
 */
class StreamPeer internal constructor(
    val host: String,
    val port: Int,
    val timeoutMs: Int,
    val authorities: String,
    val certificate: String,
    val key: String,
)

/**
 * One connection. [read] comes from one thread and [write] from another, at the same time; both may block.
 */
interface StreamConnection : AutoCloseable {
    /** Waits for a byte at least and returns how many it put into [to]; 0: the peer has closed. */
    fun read(to: ByteArray): Int

    /** Waits until a byte at least is taken and returns how many were. */
    fun write(bytes: ByteArray): Int

    /** From any thread: makes a read and a write under way, and later ones, return or throw soon. */
    fun cancel()
}

/**
 * Connections over the app's own TLS, for the tunnel; there is one at a time. [TlsTransport] is one by
 * javax.net.
 */
interface StreamTransport {
    /** What it throws is why there is no connection. */
    fun connect(peer: StreamPeer): StreamConnection

    /** From any thread: a connect under way ends soon. One that cannot do that runs into its timeout. */
    fun cancel() = Unit
}
