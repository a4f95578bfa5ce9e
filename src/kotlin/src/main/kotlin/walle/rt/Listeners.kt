package walle.rt

import java.util.concurrent.ConcurrentHashMap
import java.util.logging.Level

/** A function that tasks call as `walle.app.NAME`; from threads of the device's own, several at once. */
fun interface AppFunction {
    /** What it throws reaches the task as a RuntimeError with its type and text. */
    fun call(arguments: List<Any?>): Any?
}

/** Takes lines of tasks: level 0 debug, 1 info, 2 warning, 3 error. On the thread that runs the task. */
fun interface TaskLog {
    fun line(task: String, level: Int, text: String)
}

/** Lines of tasks to java.util.logging, under the name "walle_rt". */
internal object DefaultLog : TaskLog {
    private val levels = listOf(Level.FINE, Level.INFO, Level.WARNING, Level.SEVERE)

    override fun line(task: String, level: Int, text: String) {
        Upcalls.log.log(levels.getOrElse(level) { Level.INFO }, "{0}: {1}", arrayOf(task, text))
    }
}

/** Whom results are told to. It knows no device: C's half of one holds it, and must not keep it. */
internal class Listeners {
    private class Listener(val task: String?, val take: (TaskResult) -> Unit, val end: () -> Unit)

    private val each = ConcurrentHashMap.newKeySet<Listener>()

    /** @param task of one task alone; null: of all. */
    fun add(task: String?, take: (TaskResult) -> Unit, end: () -> Unit = {}): AutoCloseable {
        val listener = Listener(task, take, end)
        each.add(listener)
        return AutoCloseable { each.remove(listener) }
    }

    /**
     * From a worker, for one firing after the other of a task. What one listener throws the others do not
     * see.
     */
    fun tell(result: TaskResult) {
        for (one in each) {
            if (one.task != null && one.task != result.task) continue
            try {
                one.take(result)
            } catch (thrown: Exception) {
                Upcalls.log.log(Level.SEVERE, "a listener has thrown", thrown)
            }
        }
    }

    /** The device is closed. */
    fun end() = each.forEach { it.end() }
}
