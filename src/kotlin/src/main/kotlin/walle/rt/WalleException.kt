package walle.rt

/** Groups of causes, in the order of `walle_status_t`. */
enum class ErrorCode {
    OK,

    /**
     * A value passed to the API is wrong: name, shape, dtype, range, option; or what it is asked of is
     * closed.
     */
    ARGUMENT,

    /** A model file or graph is damaged, unsupported or inconsistent. */
    MODEL,

    /** Memory, files or another limited resource ran out or a limit was exceeded. */
    RESOURCE,

    /** A requested backend, or the VM's library, is missing or failed. */
    BACKEND,

    /** A task's script, bundle or configuration failed. */
    TASK,

    /** A connection failed or the peer answered wrongly. */
    NETWORK,

    /** An invariant of the runtime does not hold: a bug worth reporting. */
    INTERNAL,

    /** It was not done within its timeout. */
    TIMEOUT,

    /** A run was ended. */
    CANCELLED,
}

/**
 * Every error of walle_rt.
 *
 * The message says what was given, what was expected, where, and one next step; the four parts are also
 * properties, "" where the message has no such part.
 */
class WalleException internal constructor(val code: ErrorCode, message: String) : RuntimeException(message) {
    val given: String
    val expected: String
    val where: String
    val nextStep: String

    init {
        // The C API has the text alone, joined as compose() does; a quote may hold a mark, too, so that the
        // outermost of each counts.
        val (front, next) = message.cutAtLast(". Next: ")
        val placed = if (front.endsWith("]")) front.dropLast(1).cutAtLast(" [at ") else front to ""
        val (told, wanted) = placed.first.cutAtFirst("; expected ")
        given = told
        expected = wanted
        where = placed.second
        nextStep = next
    }

    internal companion object {
        fun compose(given: String, expected: String, where: String, nextStep: String): String =
            "$given; expected $expected [at $where]. Next: $nextStep"

        fun argument(given: String, expected: String, where: String, nextStep: String): WalleException =
            WalleException(ErrorCode.ARGUMENT, compose(given, expected, where, nextStep))
    }
}

private fun String.cutAtLast(mark: String): Pair<String, String> = cutAt(lastIndexOf(mark), mark)

private fun String.cutAtFirst(mark: String): Pair<String, String> = cutAt(indexOf(mark), mark)

private fun String.cutAt(at: Int, mark: String): Pair<String, String> =
    if (at < 0) this to "" else substring(0, at) to substring(at + mark.length)
