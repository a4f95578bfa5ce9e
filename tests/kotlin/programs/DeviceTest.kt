package walle.rt.tests

import java.io.File
import java.lang.ref.WeakReference
import java.util.TimeZone
import java.util.concurrent.CopyOnWriteArrayList
import java.util.concurrent.atomic.AtomicInteger
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.Duration.Companion.seconds
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.CoroutineStart
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.async
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.flow.asFlow
import kotlinx.coroutines.flow.take
import kotlinx.coroutines.flow.toList
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import walle.rt.AppFunction
import walle.rt.ColumnType
import walle.rt.Device
import walle.rt.ErrorCode
import walle.rt.Event
import walle.rt.Field
import walle.rt.Row
import walle.rt.Sensitivity
import walle.rt.TaskResult
import walle.rt.Tensor
import walle.rt.WalleException

/** The task `shop` of tests/install/test_device_program.py, in two versions. */
class DeviceTest(private val folder: File, private val bundle: File, private val newer: File) {
    @Volatile private var device: Device? = null
    @Volatile private var refusedInside = 0

    /** walle.app.rate(of): half of it, but for 3; asks back, which is refused. */
    private val rate = AppFunction { (of) ->
        val here = device
        if (here != null) {
            val calls = listOf<suspend () -> Any?>(
                { here.call("shop", "discount") }, { here.wait() }, { here.disconnect() }, { here.close() },
            )
            refusedInside = calls.count { failsInside { runBlocking { it() } } }
        }
        require(of != 3L) { "no rate of $of" }
        (of as Long) / 2.0
    }

    private fun failsInside(call: () -> Any?): Boolean = try {
        call()
        false
    } catch (refused: WalleException) {
        refused.code == ErrorCode.ARGUMENT
    }

    suspend fun run() {
        records()
        goesOn()
        refusesMistakes()
        isClosedUnderThreads()
        isCollected()
    }

    private suspend fun opened(): Device =
        Device.open(folder, app = mapOf("rate" to rate)).also { device = it }

    private suspend fun records() = coroutineScope {
        val device = opened()
        device.declare(
            "buy",
            mapOf("price" to Field(ColumnType.INT, Sensitivity.OPEN), "name" to Field(ColumnType.TEXT)),
        )
        device.declarePage("cart")
        device.declareState("online")
        device.install(bundle)
        watches(device)
        reads(device)
        asks(device)
        isAsked(device)
        device.setFacts(mapOf("charging" to true, "idle" to false))
        device.setZone(TimeZone.getTimeZone("Europe/Berlin"))
        device.setZone()
        val followed = CopyOnWriteArrayList<Row>()
        val following = launch { device.results("shop", "sales").follow().collect(followed::add) }
        device.record("buy", "cart", mapOf("price" to 11, "name" to "ü🙂 \u0000"))
        promise(device.wait(30.seconds), "a firing is done")
        until { followed.size == 11 }
        device.close()
        device.close()
        following.join()
        same(followed.map { it.number }, (1L..11L).toList(), "a table is followed until the device is closed")
        same(followed.last()["name"], "ü🙂 \u0000", "any text comes back as it went")
        promise(device.closed && "closed" in device.toString(), "the device is closed")
        val error = refused(ErrorCode.ARGUMENT, "a closed device", "and says so") { device.record("buy") }
        same(error?.where, "Device.record", "and where")
        refused(ErrorCode.ARGUMENT, "a closed device", "to whoever watches, too") { device.watch().toList() }
    }

    private suspend fun watches(device: Device) = coroutineScope {
        val heard = CopyOnWriteArrayList<TaskResult>()
        device.onResult { throw IllegalStateException("a listener that fails") }.use {
            val listening = device.onResult(heard::add)
            val watched = async(start = CoroutineStart.UNDISPATCHED) {
                device.watch("shop").take(10).toList()
            }
            val others = launch(start = CoroutineStart.UNDISPATCHED) { device.watch("other").toList() }
            val named = listOf("even", "odd")
            val bought = (1..9).map { Event("buy", "", mapOf("price" to it, "name" to named[it % 2])) }
            device.record(bought.asFlow())
            val seq = device.record("buy", contents = mapOf("price" to 10L, "name" to "even"), durable = true)
            promise(seq >= 10, "events are numbered")
            val results = watched.await()
            same(results.map { it.number }, (1L..10L).toList(), "every firing is told, in order")
            promise(results.all { it.ok && it.task == "shop" && it.rows == 1L && it.ts > 0 }, "as it went")
            val value = results[6].value as Map<*, *>
            same(value, mapOf("price" to 7L, "name" to "odd"), "with what the task returned")
            promise(device.wait(30.seconds), "the tasks are done")
            same(heard.size, 10, "and to listeners, whatever others throw")
            listening.close()
            others.cancel()
        }
        val task = device.tasks().getValue("shop")
        same(task.firings to task.version, 10L to "1.0.0", "the device knows its task")
        refused(ErrorCode.ARGUMENT, "shop", "and no other") { device.task("shoe") }
    }

    private suspend fun reads(device: Device) {
        val sales = device.results("shop", "sales")
        val rows = sales.read()
        same(rows.size, 10, "every firing left a row")
        same((rows.column("price").values as LongArray).sum(), 55L, "numbers are in columns")
        same(rows.map { it["name"] }.take(3), listOf("odd", "even", "odd"), "texts are, too")
        promise(rows.times.all { it > 0 }, "and rows have times")
        same(sales.read(9, 1).numbers.toList(), listOf(9L), "a reader goes on where it was")
        same(sales.rows(4).toList().map { it.number }, (4L..10L).toList(), "rows are a flow")
        refused(ErrorCode.ARGUMENT, "price", "an unknown column is refused") { rows.column("prize") }
        refused(ErrorCode.ARGUMENT, "sales", "an unknown table, too") {
            device.results("shop", "sale").read()
        }
        val spent = device.features("shop", "spent", listOf("even", "none"))
        same(spent, listOf(24L, null), "features are looked up")
    }

    private suspend fun asks(device: Device) {
        val rates = Tensor.of(floatArrayOf(0.5f, 0.25f))
        same(device.call("shop", "taxed", 100.0, rates, timeout = 10.seconds), 175.0, "the task answers")
        val error = refused(ErrorCode.ARGUMENT, "float, tensor", "other arguments are refused") {
            device.call("shop", "taxed", 100.0)
        }
        promise(error?.where.orEmpty().isNotEmpty(), "with the place")
        refused(ErrorCode.ARGUMENT, "absent", "and other functions") { device.call("shop", "absent") }
        refused(ErrorCode.ARGUMENT, "deeper", "and what holds itself") {
            device.call("shop", "taxed", mutableListOf<Any?>().also { it.add(it) }, rates)
        }
        refused(ErrorCode.ARGUMENT, "java.lang.Object", "and what is no value") {
            device.call("shop", "taxed", Any(), rates)
        }
        same(device.call("shop", "discount"), 0.5, "a parameter has its default")
        device.setParams("shop", mapOf("discount" to 0.25))
        same(device.call("shop", "discount"), 0.25, "and then what is set")
        refused(ErrorCode.ARGUMENT, "discount", "within its bounds") {
            device.setParams("shop", mapOf("discount" to 0.8))
        }
        device.setParams("shop", mapOf("discount" to null))
        same(device.call("shop", "discount"), 0.5, "null goes back")
        val many = coroutineScope { List(8) { async { device.call("shop", "taxed", it, rates) } } }
        same(many.map { it.await() }, List(8) { it * 1.75 }, "eight ask at once")
    }

    private suspend fun isAsked(device: Device) {
        same(device.call("shop", "rated", 5), 2.5, "the task asks the application")
        same(refusedInside, 4, "which cannot wait for the task meanwhile")
        val rated: suspend () -> Any? = { device.call("shop", "rated", 5) }
        refused(ErrorCode.TASK, "IllegalArgumentException: no rate of 3", "what fails there fails here") {
            device.call("shop", "rated", 3)
        }
        device.provide("rate") { "much" }
        refused(ErrorCode.TASK, "rate", "an answer of another type is refused", rated)
        device.provide("rate") { Any() }
        refused(ErrorCode.TASK, "java.lang.Object", "and one that is none", rated)
        device.provide("rate", null)
        refused(ErrorCode.TASK, "'rate'", "a function that is gone is named", rated)
        refused(ErrorCode.ARGUMENT, "no name", "a name is one") { device.provide("no name") { null } }
        device.provide("rate") { (of) -> (of as Long) * 1.0 }
        same(device.call("shop", "rated", 5), 5.0, "another one is asked")
    }

    /** Both copies of the outbox hold something else: told at every open until it is acknowledged. */
    private suspend fun goesOn() {
        for (copy in listOf("outbox.wals", "outbox.wals.mirror")) {
            File(folder, "outbox/$copy").writeText("nothing of ours")
        }
        val device = opened()
        val loss = device.losses(verify = true).single()
        same(Triple(loss.what, loss.kind, loss.exact), Triple("sends", "manifest", false), "a loss is told")
        promise("outbox" in loss.cause, "and why")
        device.acknowledgeLosses()
        same(device.losses().size, 0, "until it is acknowledged")
        same(device.results("shop", "sales").read().size, 11, "rows are there after a restart")
        device.install(newer.readBytes())
        device.record("buy", contents = mapOf("price" to 12, "name" to "new"))
        promise(device.wait(), "the task is done")
        same(device.results("shop", "sales").read(12).single()["price"], 1012L, "the new version has run")
        device.remove("shop")
        refused(ErrorCode.ARGUMENT, "shop", "a task is removed once") { device.remove("shop") }
        device.aclose()
    }

    private suspend fun refusesMistakes() {
        refused(ErrorCode.ARGUMENT, "workers", "a negative number of workers is refused") {
            Device.open(File(folder, "x"), workers = -1)
        }
        refused(ErrorCode.BACKEND, "absent.so", "a VM library that is missing is named") {
            Device.open(File(folder, "x"), vmLibrary = File("absent.so"))
        }
        refused(ErrorCode.ARGUMENT, "32", "a key has its length") {
            Device.open(File(folder, "x"), key = ByteArray(7))
        }
        val device = opened()
        refused(ErrorCode.RESOURCE, "", "a folder has one device") { Device.open(folder) }
        refused(ErrorCode.ARGUMENT, "'bay'", "an event is declared") { device.record("bay") }
        refused(ErrorCode.ARGUMENT, "'prize'", "so is a field") {
            device.record("buy", contents = mapOf("prize" to 1))
        }
        refused(ErrorCode.ARGUMENT, "price", "which has a type") {
            device.record("buy", contents = mapOf("price" to "much"))
        }
        refused(ErrorCode.ARGUMENT, "", "and a page, too") { device.record("buy", "nowhere") }
        refused(ErrorCode.RESOURCE, "absent.wtask", "a task has a file") {
            device.install(File("absent.wtask"))
        }
        refused(ErrorCode.TASK, "", "of a task") { device.install(ByteArray(100)) }
        refused(ErrorCode.ARGUMENT, "code 0", "a name ends where it says") { device.record("buy\u0000") }
        refused(ErrorCode.ARGUMENT, "not connected", "nobody is pulled from") { device.pull() }
        promise(device.cloud == null && device.requestHeaders.isEmpty(), "who follows nobody says nothing")
        device.saw("X-Walle-Up", "7")
        device.close()
    }

    private suspend fun isClosedUnderThreads() = coroutineScope {
        val device = opened()
        device.install(bundle)
        val told = AtomicInteger()
        val busy = listOf<suspend () -> Any?>(
            { device.record("buy", contents = mapOf("price" to 1, "name" to "n")) },
            { device.call("shop", "discount") },
            { device.results("shop", "sales").read(limit = 10) },
            { device.wait(20.milliseconds) },
            { device.tasks() },
        )
        val threads = busy.map { one -> onThread { while (answers(one)) Unit; told.incrementAndGet() } }
        until { device.task("shop").firings > 50 }
        device.close()
        threads.forEach { it.join() }
        same(told.get(), busy.size, "a device that is closed under five threads is an error for each")
    }

    // Of what begins behind the end, and of what it has ended.
    private val ends = listOf(ErrorCode.ARGUMENT, ErrorCode.RESOURCE, ErrorCode.CANCELLED)

    private fun CoroutineScope.onThread(block: suspend () -> Unit) = launch(Dispatchers.IO) { block() }

    private suspend fun answers(call: suspend () -> Any?): Boolean = try {
        call()
        true
    } catch (closed: WalleException) {
        if (closed.code !in ends) println("        ${closed.code}: $closed")
        false
    }

    /** A device that nobody closed lets go of its folder once it is collected. */
    private suspend fun isCollected() {
        val forgotten = forget()
        until {
            System.gc()
            forgotten.get() == null && opens()
        }
        promise(true, "a device that was forgotten is freed")
    }

    private suspend fun forget() = WeakReference(Device.open(folder))

    private suspend fun opens(): Boolean = try {
        Device.open(folder).aclose()
        true
    } catch (held: WalleException) {
        held.code != ErrorCode.RESOURCE
    }
}
