package walle.rt

import java.io.File
import java.io.IOException
import java.io.InputStream
import java.net.HttpURLConnection
import java.net.URL
import javax.net.ssl.HttpsURLConnection

/** Takes pieces of a reply's body; false: no more is wanted, end the request. */
class BodySink internal constructor(private val sink: Long) {
    @Volatile private var ended = false

    fun take(bytes: ByteArray, size: Int = bytes.size): Boolean {
        require(size in 0..bytes.size) { "$size bytes of ${bytes.size}" }
        return !ended && Native.httpTake(sink, bytes, size)
    }

    /** C's side is gone. */
    internal fun end() {
        ended = true
    }
}

/**
 * What carries a device's requests: the app's own HTTP stack, with its proxies and pins.
 *
 * Both return the HTTP status of the reply, or 0 where there was none or it was cut off, and give pieces of
 * its body to `sink` before they return: of 200 and 206 to a GET, of any 2xx and 429 to a POST. Called from
 * one thread, which waits.
 */
interface Transport {
    /**
     * @param start the bytes from there on (`Range`); of a server that sends all, what lies before is left
     * out.
     */
    fun get(url: String, start: Long, headers: List<Pair<String, String>>, sink: BodySink): Int

    fun post(
        url: String,
        contentType: String,
        body: ByteArray,
        headers: List<Pair<String, String>>,
        sink: BodySink,
    ): Int
}

/**
 * HTTP by java.net, which Android and the JVM have.
 *
 * @param authorities PEM file of those who may vouch for the server's name; null: the system's.
 */
class UrlTransport(authorities: File? = null) : Transport {
    private val sockets = authorities?.let { Tls.context(it).socketFactory }

    override fun get(url: String, start: Long, headers: List<Pair<String, String>>, sink: BodySink): Int =
        exchange(url, headers) { connection ->
            if (start > 0) connection.setRequestProperty("Range", "bytes=$start-")
            val status = connection.responseCode
            val skip = if (status == HttpURLConnection.HTTP_OK) start else 0
            if (status == HttpURLConnection.HTTP_OK || status == HttpURLConnection.HTTP_PARTIAL) {
                pass(connection.inputStream, skip, sink)
            }
            status
        }

    override fun post(
        url: String,
        contentType: String,
        body: ByteArray,
        headers: List<Pair<String, String>>,
        sink: BodySink,
    ): Int = exchange(url, headers) { connection ->
        connection.requestMethod = "POST"
        connection.doOutput = true
        connection.setRequestProperty("Content-Type", contentType)
        connection.setFixedLengthStreamingMode(body.size)
        connection.outputStream.use { it.write(body) }
        val status = connection.responseCode
        if (status / HUNDRED == 2) pass(connection.inputStream, 0, sink)
        if (status == TOO_MANY) connection.errorStream?.let { pass(it, 0, sink) }
        status
    }

    private fun exchange(
        url: String, headers: List<Pair<String, String>>, ask: (HttpURLConnection) -> Int,
    ): Int {
        val connection = URL(url).openConnection() as HttpURLConnection
        try {
            if (connection is HttpsURLConnection && sockets != null) connection.sslSocketFactory = sockets
            connection.connectTimeout = CONNECT_MS
            connection.readTimeout = READ_MS
            connection.useCaches = false
            // A plan is signed for its address: another one is another file.
            connection.instanceFollowRedirects = false
            for ((name, value) in headers) connection.setRequestProperty(name, value)
            return ask(connection)
        } catch (failed: IOException) {
            Upcalls.log.fine("$url: $failed")
            return 0
        } finally {
            connection.disconnect()
        }
    }

    private fun pass(from: InputStream, skip: Long, sink: BodySink) {
        val piece = ByteArray(PIECE)
        var left = skip
        from.use {
            while (true) {
                val count = it.read(piece)
                if (count < 0) break
                val before = minOf(left, count.toLong()).toInt()
                left -= before
                if (before < count && !sink.take(piece.copyOfRange(before, count))) break
            }
        }
    }

    private companion object {
        const val CONNECT_MS = 10_000
        const val READ_MS = 30_000
        const val PIECE = 16_384
        const val HUNDRED = 100
        const val TOO_MANY = 429
    }
}
