package walle.rt

import kotlinx.coroutines.CancellationException
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.withContext

/**
 * What may block, on a thread for that; in a callback of the device here and now, because the C API knows its
 * callbacks by their thread and refuses what would wait for them.
 */
internal suspend fun <T> blocking(block: () -> T): T =
    if (Upcalls.inCallback) block() else withContext(Dispatchers.IO) { block() }

/** Likewise, for what has to be closed: a caller who was cancelled meanwhile never sees it. */
internal suspend fun <T : AutoCloseable> making(make: () -> T): T {
    var made: T? = null
    try {
        return blocking { make().also { made = it } }
    } catch (cancelled: CancellationException) {
        made?.close()
        throw cancelled
    }
}
