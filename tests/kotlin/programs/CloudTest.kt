package walle.rt.tests

import java.io.File
import java.util.concurrent.CountDownLatch
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.Duration.Companion.seconds
import kotlinx.coroutines.CoroutineStart
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.async
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.flow.first
import kotlinx.coroutines.launch
import walle.rt.BodySink
import walle.rt.Device
import walle.rt.ErrorCode
import walle.rt.StreamConnection
import walle.rt.StreamPeer
import walle.rt.StreamTransport
import walle.rt.TlsTransport
import walle.rt.Transport
import walle.rt.UrlTransport

/** A `walle serve --tls` has released the task `shop`, which sends what is bought. */
class CloudTest(
    private val folder: File,
    private val url: String,
    private val authority: File,
    private val code: String,
    private val another: String,
) {
    /** The app's own, which counts, and can have no network. */
    private inner class Counting : Transport {
        private val by = UrlTransport(authority)
        @Volatile var down = false
        @Volatile var gets = 0
        @Volatile var posts = 0
        @Volatile var late: BodySink? = null

        override fun get(url: String, start: Long, headers: List<Pair<String, String>>, sink: BodySink): Int {
            gets++
            check(!down) { "no network" }
            late = sink
            return by.get(url, start, headers, sink)
        }

        override fun post(
            url: String,
            contentType: String,
            body: ByteArray,
            headers: List<Pair<String, String>>,
            sink: BodySink,
        ): Int {
            posts++
            return if (down) 0 else by.post(url, contentType, body, headers, sink)
        }
    }

    private class Refusing : StreamTransport {
        private val by = TlsTransport()
        @Volatile var refuses = true
        @Volatile var peers = setOf<String>()
        @Volatile var closed = 0

        override fun connect(peer: StreamPeer): StreamConnection {
            peers = peers + peer.host
            check(!refuses) { "the platform says no to ${peer.host}" }
            val made = by.connect(peer)
            return object : StreamConnection by made {
                override fun close() {
                    closed++
                    made.close()
                }
            }
        }
    }

    suspend fun run() {
        isCancelled()
        Device.open(folder).use { device ->
            val http = Counting()
            refusesServers(device, http)
            follows(device, http)
            device.disconnect()
            promise(device.cloud == null && device.requestHeaders.isEmpty(), "it follows nobody any more")
            device.disconnect()
            connect(device, http, Refusing(), broker = "")
            same(device.cloud?.tunnel, "", "there may be no tunnel")
        }
    }

    private suspend fun connect(
        device: Device,
        http: Transport,
        stream: StreamTransport,
        given: String? = null,
        broker: String? = null,
    ) = device.connect(
        url, null, "com.example.shop", "1.0.0", given, "Pixel 8", "14",
        transport = http, stream = stream, broker = broker, reportAfter = 200.milliseconds,
    )

    /** The reply of a device that enrols waits until the coroutine is cancelled. */
    private suspend fun isCancelled() = coroutineScope {
        val asked = CountDownLatch(1)
        val goOn = CountDownLatch(1)
        val slow = object : Transport by UrlTransport(authority) {
            override fun post(
                url: String,
                contentType: String,
                body: ByteArray,
                headers: List<Pair<String, String>>,
                sink: BodySink,
            ): Int {
                asked.countDown()
                goOn.await()
                return UrlTransport(authority).post(url, contentType, body, headers, sink)
            }
        }
        Device.open(folder.resolveSibling("second")).use { device ->
            val connecting = launch(Dispatchers.Default) { connect(device, slow, TlsTransport(), another) }
            until { asked.count == 0L }
            connecting.cancel()
            goOn.countDown()
            connecting.join()
            promise(connecting.isCancelled && device.cloud == null, "who is cancelled follows nobody")
            promise(connect(device, slow, TlsTransport()).device.startsWith("d-"), "but has enrolled")
        }
    }

    private suspend fun refusesServers(device: Device, http: Counting) {
        refused(ErrorCode.NETWORK, "reply", "the system's authorities do not vouch for this server") {
            connect(device, UrlTransport(), TlsTransport(), code)
        }
        http.down = true
        refused(ErrorCode.NETWORK, "reply", "a network that is not there is an error") {
            connect(device, http, TlsTransport(), code)
        }
        http.down = false
        refused(ErrorCode.ARGUMENT, "code", "who has not enrolled needs a code") {
            connect(device, http, TlsTransport())
        }
        refused(ErrorCode.NETWORK, "code", "that the server knows") {
            connect(device, http, TlsTransport(), "another-code")
        }
        promise(device.cloud == null, "it follows nobody")
    }

    private suspend fun follows(device: Device, http: Counting) = coroutineScope {
        val stream = Refusing()
        val state = connect(device, http, stream, code)
        promise(state.device.startsWith("d-") && state.transport == "the app's", "the device enrols over TLS")
        refused(ErrorCode.ARGUMENT, "is connected", "once") { connect(device, http, stream) }
        until { device.cloud!!.pulls > 0 && device.tasks().isNotEmpty() }
        same(device.cloud!!.error, "", "it pulls by itself")
        same(device.task("shop").version, "1.0.0", "and has the task that was released")
        promise(http.gets > 3 && http.posts > 0, "over the app's HTTP")
        promise(!http.late!!.take(ByteArray(1)), "whose sink ends with its request")
        same(device.requestHeaders.getValue("X-Walle").length, 48, "the header of a request is there")
        until { "says no to 127.0.0.1" in device.cloud!!.tunnelError }
        promise(true, "the app refuses a connection, and says why")
        stream.refuses = false
        until { device.cloud!!.tunnel == "online" }
        same(stream.peers, setOf("127.0.0.1"), "the tunnel opens over the app's TLS")
        val fired = async(start = CoroutineStart.UNDISPATCHED) { device.watch("shop").first() }
        device.record("buy", contents = mapOf("price" to 7, "name" to "it"))
        same(fired.await().sends, 1L, "what the task sends waits to leave")
        until { device.cloud!!.acknowledged >= 1 }
        promise(true, "and the server has it")
        val before = device.cloud!!.pulls
        device.saw(mapOf(null to listOf("HTTP/1.1 200"), "x-walle-up" to listOf("999")))
        until { device.cloud!!.pulls > before }
        promise(true, "a reply that tells of a newer plan means a pull")
        promise(device.pull(60.seconds).pulls > before, "and so does the app")
        device.disconnect()
        same(stream.closed, 1, "the connection is closed with it")
    }
}
