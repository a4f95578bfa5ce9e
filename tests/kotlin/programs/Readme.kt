package walle.rt.tests.readme

// The first block of src/kotlin/README.md; tests/kotlin/test_kotlin.py compares them.
import java.io.File
import kotlinx.coroutines.*
import walle.rt.*

fun main() = runBlocking {
    val price = AppFunction { (item) -> item as Long * 0.5 }
    Device.open(File("device"), app = mapOf("price" to price)).use { device ->
        device.install(File("offers.wtask"))
        val watching = launch { device.watch("offers").collect { println(it.value) } }
        device.record("view", contents = mapOf("item" to 7))
        device.wait()
        device.results("offers", "offers").rows().collect { println("${it.number}: ${it["price"]}") }
        watching.cancel()
    }
    load(File("model.walle")).use { model ->
        model.session(threads = 1).use { session ->
            val data = Tensor.of(floatArrayOf(1f, 2f, 3f, 4f), 1, 4)
            println(session.run(mapOf("data" to data)).getValue("prob").toFloatArray().toList())
        }
    }
}
