package walle.rt

import java.lang.ref.PhantomReference
import java.lang.ref.ReferenceQueue
import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.AtomicBoolean
import java.util.concurrent.atomic.AtomicInteger

/**
 * A native object: used by any thread, freed once, behind its last use.
 *
 * Closing it turns every later use into an error; uses under way end first, on their own threads, and the
 * last one of them frees. So that nobody ever waits here, and nobody holds what is freed.
 */
internal class Handle(private val address: Long, private val what: String, private val free: (Long) -> Unit) {
    private val holders = AtomicInteger(1) // its owner, and a use each
    private val closing = AtomicBoolean(false)

    val closed: Boolean get() = closing.get()

    fun <T> use(where: String, block: (Long) -> T): T {
        if (!enter()) {
            val hint = "make another one, or close it later"
            throw WalleException.argument("a closed $what", "an open one", where, hint)
        }
        try {
            return block(address)
        } finally {
            leave()
        }
    }

    /** Likewise, but for what means nothing any more once it is closed. */
    fun useIfOpen(block: (Long) -> Unit) {
        if (!enter()) return
        try {
            block(address)
        } finally {
            leave()
        }
    }

    fun close() {
        if (closing.compareAndSet(false, true)) leave()
    }

    private fun enter(): Boolean {
        while (true) {
            val now = holders.get()
            if (now == 0 || closing.get()) return false
            if (holders.compareAndSet(now, now + 1)) return true
        }
    }

    private fun leave() {
        if (holders.decrementAndGet() == 0) free(address)
    }
}

/**
 * A net for owners that nobody closed: their handles are closed once they are collected.
 *
 * What java.lang.ref.Cleaner does, which Android has from API 33 on only.
 */
internal object Net {
    private class Watched(owner: Any, val handle: Handle) : PhantomReference<Any>(owner, queue)

    private val queue = ReferenceQueue<Any>()
    private val watched = ConcurrentHashMap.newKeySet<Watched>()

    init {
        val reaper = Thread({ while (true) reap(queue.remove() as Watched) }, "walle-net")
        reaper.isDaemon = true
        reaper.start()
    }

    /** [owner] must not be reachable from [handle]. */
    fun watch(owner: Any, handle: Handle) {
        watched.add(Watched(owner, handle))
    }

    private fun reap(gone: Watched) {
        watched.remove(gone)
        gone.handle.close()
    }
}
