package walle.rt.tests

import kotlinx.coroutines.delay
import kotlinx.coroutines.withTimeout
import walle.rt.ErrorCode
import walle.rt.WalleException

/** Said and counted: one line per promise, as the programs of tests/install/consumer print them. */
object Promises {
    var broken = 0
        private set

    fun promise(kept: Boolean, what: String) {
        println("${if (kept) "ok  " else "FAILED"}  $what")
        if (!kept) broken++
    }

    fun <T> same(given: T, expected: T, what: String) {
        if (given != expected) println("        $given, expected $expected")
        promise(given == expected, what)
    }
}

fun promise(kept: Boolean, what: String) = Promises.promise(kept, what)

fun <T> same(given: T, expected: T, what: String) = Promises.same(given, expected, what)

/** The call fails with that code, and its message has the word. */
suspend fun refused(code: ErrorCode, word: String, what: String, call: suspend () -> Any?): WalleException? {
    try {
        println("        no error: ${call()}")
    } catch (error: WalleException) {
        if (error.code != code || word !in error.message!!) println("        ${error.code}: ${error.message}")
        promise(error.code == code && word in error.message!!, what)
        return error
    }
    promise(false, what)
    return null
}

/** Until it holds; as long as a slow machine may take. */
suspend fun until(holds: suspend () -> Boolean) = withTimeout(120_000) {
    while (!holds()) delay(10)
}
