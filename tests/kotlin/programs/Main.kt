package walle.rt.tests

import java.io.File
import java.util.logging.Level
import java.util.logging.Logger
import kotlin.system.exitProcess
import kotlinx.coroutines.runBlocking

/** `models FOLDER`, `keys FOLDER`, `device FOLDER BUNDLE NEWER` or `cloud FOLDER URL AUTHORITY CODE CODE`. */
fun main(arguments: Array<String>) {
    Logger.getLogger("walle_rt").level = Level.OFF // listeners that throw are part of the test
    val rest = arguments.drop(1)
    runBlocking {
        when (arguments.firstOrNull()) {
            "models" -> ModelTest(File(rest[0])).run()
            "keys" -> KeysTest(File(rest[0])).run()
            "device" -> DeviceTest(File(rest[0]), File(rest[1]), File(rest[2])).run()
            "cloud" -> CloudTest(File(rest[0]), rest[1], File(rest[2]), rest[3], rest[4]).run()
            else -> error("models, keys, device or cloud")
        }
    }
    exitProcess(if (Promises.broken == 0) 0 else 1)
}
