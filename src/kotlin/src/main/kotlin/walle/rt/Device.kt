package walle.rt

import java.io.File
import java.util.TimeZone
import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.AtomicInteger
import kotlin.time.Duration
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.Duration.Companion.minutes
import kotlin.time.Duration.Companion.seconds
import kotlin.time.TimeSource
import kotlinx.coroutines.CancellationException
import kotlinx.coroutines.NonCancellable
import kotlinx.coroutines.channels.BufferOverflow
import kotlinx.coroutines.channels.Channel
import kotlinx.coroutines.currentCoroutineContext
import kotlinx.coroutines.delay
import kotlinx.coroutines.ensureActive
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.flow
import kotlinx.coroutines.withContext

/**
 * One folder in which events are recorded, and tasks run whose triggers they complete; [open] makes it.
 *
 * Every function may be called from any thread; a firing's results are durable before anybody is told of
 * them. A folder has one device at a time. In its own callbacks - listeners, functions that tasks call, logs,
 * transports - what would wait for them is refused: [call], [wait], [disconnect], [close].
 */
@Suppress("TooManyFunctions")
class Device private constructor(val path: File, address: Long, private val kept: Kept) : AutoCloseable {
    /** What C knows by number. It outlives the device and must not know it. */
    private class Kept {
        val listeners = Listeners()
        val functions = ConcurrentHashMap<String, Long>()
        val results = Upcalls.keep(listeners)
        var log = 0L

        fun drop() {
            functions.values.forEach(Upcalls::drop)
            Upcalls.drop(results)
            Upcalls.drop(log)
        }
    }

    private val handle = Handle(address, "device", freeing(kept)).also { Net.watch(this, it) }
    @Volatile private var connection: Connection? = null

    // Calls of close under way, which C answers as a closed device before they return, or that have ended.
    private val closings = AtomicInteger(0)

    /** Whether [close] was called. */
    val closed: Boolean get() = closings.get() > 0

    // -- events -------------------------------------------------------------------------------------------

    /**
     * Declare an event, or append fields to a declared one, durably.
     *
     * @throws WalleException a declaration that contradicts an earlier one.
     */
    suspend fun declare(event: String, fields: Map<String, Field> = emptyMap()) {
        val types = fields.values.map { it.type.ordinal.toLong() }.toLongArray()
        val sensitivities = fields.values.map { it.sensitivity.ordinal.toLong() }.toLongArray()
        val names = fields.keys.toTypedArray()
        blocking { use("declare") { Native.deviceDeclare(it, event, names, types, sensitivities) } }
    }

    /** Declare pages, durably. */
    suspend fun declarePage(vararg names: String) =
        blocking { use("declarePage") { device -> names.forEach { Native.deviceDeclarePage(device, it) } } }

    /** Declare states that `when` clauses test, durably. */
    suspend fun declareState(vararg names: String) =
        blocking { use("declareState") { device -> names.forEach { Native.deviceDeclareState(device, it) } } }

    /**
     * Record one event; tasks that it triggers run on the workers, and this does not wait for them, nor,
     * unless [durable], for the disk. See [Event].
     *
     * @return the event's number.
     * @throws WalleException a name that is not declared, a value of another type, a closed device, a full
     *     disk.
     */
    @Suppress("LongParameterList")
    fun record(
        event: String,
        page: String = "",
        contents: Map<String, Any?> = emptyMap(),
        ts: Long? = null,
        on: Boolean = true,
        durable: Boolean = false,
    ): Long {
        val fields = contents.keys.toTypedArray()
        val values = Values.packAll(contents.values.toTypedArray(), "Device.record")
        return use("record") { Native.deviceRecord(it, event, page, fields, values, ts ?: 0, on, durable) }
    }

    /** Record events as they come, on a thread for what blocks. */
    suspend fun record(events: Flow<Event>) = events.collect { event ->
        blocking { with(event) { record(name, page, contents, ts, on, durable) } }
    }

    /**
     * Device time has reached [now] (microseconds since 1970; null: the clock's) without an event, and
     * maintenance that is due is done. Only needed with `background = false`.
     */
    suspend fun advance(now: Long? = null) =
        blocking { use("advance") { Native.deviceAdvance(it, now ?: 0) } }

    // -- tasks --------------------------------------------------------------------------------------------

    /**
     * Install a task, or replace the one of its name; durable when it returns. After an error all is as
     * before.
     *
     * @param task a `.wtask` file, or a `.walp` file beside the folder `blobs`.
     * @throws WalleException there is no such file, or none that can be installed; the message says where.
     */
    suspend fun install(task: File) = blocking { use("install") { Native.deviceInstall(it, task.path) } }

    /** The same of a bundle's bytes, an asset of the app say. */
    suspend fun install(task: ByteArray) = blocking { use("install") { Native.deviceInstallData(it, task) } }

    /**
     * Ask a task: run a function that its `[call]` names, between two firings, and take what it returns.
     *
     * Cancelling the coroutine takes effect when the function has ended: [timeout] and the declared `wall_ms`
     * bound it.
     *
     * @param arguments null, Boolean, numbers, String, ByteArray, lists, maps with String keys, tensors and
     *     direct ByteBuffers, which share their memory with the task; as declared.
     * @param timeout for waiting and running together.
     * @return like the arguments: Long, Double, List, Map, Tensor ...
     * @throws WalleException TASK: the function raised; TIMEOUT; ARGUMENT: no such task or function, other
     *     arguments than declared, a call from one of the device's own callbacks.
     */
    suspend fun call(
        task: String, function: String, vararg arguments: Any?, timeout: Duration = Duration.INFINITE,
    ): Any? {
        val packed = Values.packAll(arguments, "Device.call")
        val limit = secondsOf(timeout, "Device.call")
        return blocking { use("call") { Native.deviceCall(it, task, function, packed, limit) } }
    }

    /** Remove a task. What waits is dropped; its tables stay. */
    suspend fun remove(task: String) = blocking { use("remove") { Native.deviceRemove(it, task) } }

    /** Every installed task by name. */
    fun tasks(): Map<String, TaskInfo> =
        use("tasks") { rowsOf(Native.deviceTasks(it)).map(TaskInfo::of) }.associateBy { it.name }

    /** @throws WalleException there is no such task. */
    fun task(name: String): TaskInfo {
        val all = tasks()
        val known = all.keys.joinToString().ifEmpty { "none" }
        return all[name]
            ?: throw WalleException.argument("task '$name'", "one of: $known", "Device.task", "install it")
    }

    /**
     * Let tasks call a function of the application as `walle.app.NAME`, where their `[app]` declares it, in
     * place of the one of that name; null: not any more. What firings need that waited since the last open is
     * given to [open].
     */
    fun provide(name: String, function: AppFunction?) {
        val number = function?.let(Upcalls::keep) ?: 0
        try {
            use("provide") { Native.deviceProvide(it, name, number) }
        } catch (refused: WalleException) {
            Upcalls.drop(number)
            throw refused
        }
        val old = if (number == 0L) kept.functions.remove(name) else kept.functions.put(name, number)
        old?.let(Upcalls::drop)
    }

    /**
     * Set values of a task's `walle.params`; null goes back to the default, what is not named stays.
     * Durable.
     */
    suspend fun setParams(task: String, params: Map<String, Any?>) {
        val packed = Values.pack(params, "Device.setParams")
        blocking { use("setParams") { Native.deviceSetParams(it, task, packed) } }
    }

    /**
     * Look up a feature that a task keeps per key, for many keys, behind the newest event.
     *
     * @param keys values of the field that `by` names, or lists of the values of several.
     * @return for each key a Long, a Double, or null where there is no event that counts.
     */
    suspend fun features(task: String, name: String, keys: List<Any?>): List<Number?> {
        val packed = Values.pack(keys, "Device.features")
        val found = blocking { use("features") { Native.deviceFeatures(it, task, name, packed) } }
        return (found as List<*>).map { it as Number? }
    }

    /** What holds on this device - "charging" to true, "unmetered" to false - for tasks that require it. */
    suspend fun setFacts(facts: Map<String, Boolean>) = blocking {
        use("setFacts") { device ->
            for ((fact, holds) in facts) Native.deviceSetFact(device, fact, holds)
        }
    }

    /** Local time, by which `daily` and `during` go, is another from now on; null: the host's, asked anew. */
    suspend fun setZone(zone: TimeZone? = null) = blocking {
        val offsets = zone?.let(::offsetChanges) ?: LongArray(0)
        use("setZone") { Native.deviceSetLocalTime(it, offsets) }
    }

    // -- results ------------------------------------------------------------------------------------------

    /**
     * Have [listener] called behind every firing, on a worker, which waits for it; closing what this returns
     * ends that. After a crash it is not called again: what must not be missed is in the tables.
     */
    fun onResult(listener: (TaskResult) -> Unit): AutoCloseable = listen(null, listener)

    /**
     * Results of firings (of one task, or of all) as they come, from when the flow is collected until the
     * device is closed. Of those that nobody takes [limit] wait; beyond it the oldest go.
     */
    fun watch(task: String? = null, limit: Int = 1024): Flow<TaskResult> = flow {
        val waiting = Channel<TaskResult>(limit, BufferOverflow.DROP_OLDEST)
        listen(task, { waiting.trySend(it) }, { waiting.close() }).use {
            for (result in waiting) emit(result)
        }
    }

    /** A task's result table. */
    fun results(task: String, table: String): Results = Results(this, task, table)

    internal suspend fun read(task: String, table: String, start: Long, limit: Long): Rows =
        Rows.of(blocking { use("results") { Native.deviceRead(it, task, table, start, limit) } })

    internal fun listen(task: String?, take: (TaskResult) -> Unit, end: () -> Unit = {}): AutoCloseable {
        val listening = kept.listeners.add(task, take, end)
        try {
            use("onResult") { Native.deviceOnResult(it, kept.results) }
        } catch (refused: WalleException) {
            listening.close()
            throw refused
        }
        return listening
    }

    /** What is gone, of any file of the folder; [verify] reads all tables first. */
    suspend fun losses(verify: Boolean = false): List<Loss> =
        blocking { use("losses") { rowsOf(Native.deviceLosses(it, verify)).map(Loss::of) } }

    /** Forget what [losses] tells now, durably; of "accounts" none. */
    suspend fun acknowledgeLosses() = blocking { use("acknowledgeLosses", Native::deviceAcknowledgeLosses) }

    // -- the cloud ----------------------------------------------------------------------------------------

    /**
     * Follow a server: its plans decide from now on which tasks run here. Enrols where that is needed.
     *
     * @param url of the server; `https://`, or `http://` for one on the same machine.
     * @param root the bytes of the server's `root.json`, which comes with the app; null: the one that
     *     enrolling brings, which is as believable as that connection.
     * @param app the app's name, for policies; [appVersion] its version, "10.30.4".
     * @param enrolCode lets the device in, once; not needed again for this folder.
     * @param device model of the device, and [osVersion] the system's version, for policies.
     * @param transport what carries requests; [stream] what carries the tunnel; [keys] what makes the
     *     device's own key and signs with it.
     * @param broker address for the tunnel, `mqtts://host:port`; null: the one that the server named when the
     *     device enrolled, "": no tunnel.
     * @param reportAfter that a new version runs without a firing before the server is told that it does.
     * @param plainEnrolment whether the code may go to another machine over `http://`.
     * @return how things stand before the first pull; [cloud] tells later.
     * @throws WalleException an option that is none, a device that is connected, or a server that cannot be
     *     reached or refuses the code while the device enrols.
     */
    @Suppress("LongParameterList")
    suspend fun connect(
        url: String,
        root: ByteArray?,
        app: String,
        appVersion: String,
        enrolCode: String? = null,
        device: String = "",
        osVersion: String = "",
        transport: Transport = UrlTransport(),
        stream: StreamTransport = TlsTransport(),
        keys: Keys = JavaKeys(),
        broker: String? = null,
        reportAfter: Duration = 20.seconds,
        plainEnrolment: Boolean = false,
    ): CloudState {
        val texts = arrayOf(url, app, appVersion, osVersion, device, enrolCode, broker)
        val made = Connection(transport, stream, keys)
        val numbers = made.numbers(reportAfter, plainEnrolment)
        try {
            return blocking { use("connect") { connected(it, made, texts, root, numbers) } }
        } catch (cancelled: CancellationException) {
            // It enrolled meanwhile, which stays; nobody asked to follow any more.
            if (connection === made) withContext(NonCancellable) { disconnect() }
            throw cancelled
        }
    }

    private fun connected(
        device: Long, made: Connection, texts: Array<String?>, root: ByteArray?, numbers: LongArray,
    ): CloudState {
        try {
            Native.deviceConnect(device, texts, root, numbers)
        } catch (refused: WalleException) {
            made.drop()
            throw refused
        }
        connection = made
        return CloudState.of(Native.deviceCloud(device))
    }

    /** Follow nobody any more; tasks stay as they are. Waits for the step under way, which is cut short. */
    suspend fun disconnect() = blocking {
        use("disconnect", Native::deviceDisconnect)
        leave()
    }

    /** How the device stands with its server; null where it is not connected. */
    val cloud: CloudState?
        get() = if (connection == null) null else use("cloud") { CloudState.of(Native.deviceCloud(it)) }

    /** What to send with the app's own requests to its server; empty where the device is not connected. */
    val requestHeaders: Map<String, String>
        get() = when (connection) {
            null -> emptyMap()
            else -> mapOf("X-Walle" to use("requestHeaders", Native::deviceHeader))
        }

    /** Look at a header of a reply to the app: one that says that a newer plan is there means a pull. */
    fun saw(name: String, value: String) {
        if (connection != null) use("saw") { Native.deviceSawHeader(it, name, value) }
    }

    /** Likewise at all of them, as `URLConnection.getHeaderFields` has them. */
    fun saw(headers: Map<String?, List<String>>) {
        for ((name, values) in headers) if (name != null) values.forEach { saw(name, it) }
    }

    /**
     * Pull now, and wait until that has ended.
     *
     * @throws WalleException the device is not connected; TIMEOUT: it takes longer, and goes on.
     */
    suspend fun pull(timeout: Duration = 1.minutes): CloudState {
        val before = CloudState.of(use("pull", Native::deviceCloud))
        // One that is under way may have read the plan already.
        val wanted = before.pulls + if (before.pulling) 2 else 1
        use("pull", Native::devicePull)
        val begun = TimeSource.Monotonic.markNow()
        while (begun.elapsedNow() < timeout) {
            val state = CloudState.of(use("pull", Native::deviceCloud))
            if (state.pulls >= wanted) return state
            delay(GLANCE)
        }
        val expected = "its end within $timeout"
        val text = WalleException.compose("a pull", expected, "Device.pull", "see Device.cloud")
        throw WalleException(ErrorCode.TIMEOUT, text)
    }

    // -- the end ------------------------------------------------------------------------------------------

    /** Wait until no task is queued or running; false: not within that time. */
    suspend fun wait(timeout: Duration = Duration.INFINITE): Boolean {
        val begun = TimeSource.Monotonic.markNow()
        while (true) {
            // In slices, between which a coroutine that was cancelled leaves.
            currentCoroutineContext().ensureActive()
            val left = timeout - begun.elapsedNow()
            val slice = left.coerceIn(Duration.ZERO, SLICE).inWholeMilliseconds.toInt()
            if (blocking { use("wait") { Native.deviceWait(it, slice) } }) return true
            if (left <= SLICE) return false
        }
    }

    /**
     * End the firings that run, leave others for the next open, and write everything; blocks for so long.
     * Every later call is an error, but for another [close].
     *
     * @throws WalleException in one of the device's own callbacks, whose end it would wait for.
     */
    override fun close() {
        closings.incrementAndGet()
        try {
            handle.useIfOpen(Native::deviceClose)
        } catch (refused: WalleException) {
            closings.decrementAndGet()
            throw refused
        }
        handle.close()
        leave()
        kept.listeners.end()
    }

    /** [close] on a thread for what blocks. */
    suspend fun aclose() = blocking { close() }

    override fun toString(): String = "Device($path${if (closed) ", closed" else ""})"

    private fun inZone(zone: TimeZone?): Device {
        try {
            if (zone != null) use("open") { Native.deviceSetLocalTime(it, offsetChanges(zone)) }
        } catch (refused: WalleException) {
            close()
            throw refused
        }
        return this
    }

    private fun leave() {
        connection?.drop()
        connection = null
    }

    private fun <T> use(function: String, block: (Long) -> T): T = handle.use("Device.$function", block)

    companion object {
        private val SLICE = 100.milliseconds
        private val GLANCE = 20.milliseconds

        // Not a lambda of the instance: it would hold the device that the net waits to see collected.
        private fun freeing(kept: Kept): (Long) -> Unit = { address ->
            Native.deviceFree(address)
            kept.drop()
        }

        /**
         * Open the folder, or make it, and take up what was under way.
         *
         * @param workers threads that run tasks, 1 to 64; 0: 2.
         * @param ready warm interpreters that wait for a task, 0.4 MB each; 0: 2.
         * @param hotTasks tasks that keep their interpreter between firings; 0: 32.
         * @param coldAfter after which an unused interpreter is given back.
         * @param grace beyond a phase's limit, until its thread is given up.
         * @param background a native thread advances time; without it call [advance] often.
         * @param zone by which `daily` and `during` go; null: the host's.
         * @param key 32 bytes that seal what is written; a folder keeps the choice it began with.
         * @param log null: lines go to java.util.logging, under "walle_rt".
         * @param app functions that tasks may call, there before what waits in the folder begins.
         * @param vmLibrary another VM library than the one beside libwalle.
         * @throws WalleException an option out of bounds, a VM library that is missing, or a folder that
         *     another process has open or that cannot be written.
         */
        @Suppress("LongParameterList")
        suspend fun open(
            path: File,
            workers: Int = 0,
            ready: Int = 0,
            hotTasks: Int = 0,
            coldAfter: Duration = 1.minutes,
            grace: Duration = 1.seconds,
            background: Boolean = true,
            zone: TimeZone? = null,
            key: ByteArray? = null,
            log: TaskLog? = null,
            app: Map<String, AppFunction> = emptyMap(),
            vmLibrary: File? = null,
        ): Device {
            for ((name, value) in listOf("workers" to workers, "ready" to ready, "hotTasks" to hotTasks)) {
                if (value < 0) {
                    val expected = "zero or a positive number"
                    throw WalleException.argument("$name=$value", expected, "Device.open", "pass one")
                }
            }
            val kept = Kept()
            kept.log = Upcalls.keep(log ?: DefaultLog)
            app.forEach { (name, function) -> kept.functions[name] = Upcalls.keep(function) }
            val numbers = longArrayOf(
                workers.toLong(), ready.toLong(), hotTasks.toLong(), ms(coldAfter), ms(grace),
                if (background) 0 else 1, kept.log,
            )
            val names = kept.functions.keys.toTypedArray()
            val functions = LongArray(names.size) { kept.functions.getValue(names[it]) }
            val library = vmLibrary?.path ?: Library.vm()
            return making {
                val address = try {
                    Native.deviceOpen(path.path, library, numbers, key, names, functions)
                } catch (refused: WalleException) {
                    kept.drop()
                    throw refused
                }
                Device(path, address, kept).inZone(zone)
            }
        }

        private fun ms(time: Duration): Long = time.inWholeMilliseconds.coerceIn(1, UInt.MAX_VALUE.toLong())
    }
}
