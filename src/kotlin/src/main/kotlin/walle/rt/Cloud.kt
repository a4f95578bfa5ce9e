package walle.rt

import kotlin.time.Duration

/**
 * How a device stands with its server.
 *
 * @property device its id there.
 * @property transport what carries its requests.
 * @property epoch of the plan that it follows; 0: none yet.
 * @property pulling whether a pull is under way.
 * @property pulls that have ended since connect.
 * @property error of the newest pull; "" where it worked.
 * @property pendingReports that the server has not got yet.
 * @property tunnel "offline", "connecting", "online", "refused" or "stopped"; "": there is none.
 * @property acknowledged records that the server holds durably, since connect.
 * @property tunnelError of the newest connection of the tunnel that failed.
 */
data class CloudState(
    val device: String,
    val transport: String,
    val epoch: Long,
    val pulling: Boolean,
    val pulls: Long,
    val error: String,
    val pendingReports: Long,
    val tunnel: String,
    val acknowledged: Long,
    val tunnelError: String,
) {
    internal companion object {
        fun of(row: Array<Any?>): CloudState = with(Fields(row)) {
            CloudState(
                text(), text(), number(), flag(), number(), text(), number(), text(), number(), text(),
            )
        }
    }
}

/** What carries a device's requests and its tunnel, and its keys, for C while the device is connected. */
internal class Connection(transport: Transport, stream: StreamTransport, keys: Keys) {
    private val http = Upcalls.keep(transport)
    private val tunnel = Upcalls.keep(stream)
    private val own = Upcalls.keep(keys)

    fun numbers(reportAfter: Duration, plainEnrolment: Boolean): LongArray {
        val ms = reportAfter.inWholeMilliseconds.coerceIn(1, UInt.MAX_VALUE.toLong())
        return longArrayOf(http, tunnel, own, ms, if (plainEnrolment) 1 else 0)
    }

    fun drop() {
        Upcalls.drop(http)
        Upcalls.drop(tunnel)
        Upcalls.drop(own)
    }
}
