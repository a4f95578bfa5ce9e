package walle.rt

import java.io.File
import java.nio.ByteBuffer

/** The version of libwalle. */
val version: String get() = Native.version()

/**
 * Load a model from a `.walle` file; above 1 MiB it stays mapped: replace it by a rename.
 *
 * @throws WalleException there is no such file, or it is damaged.
 */
suspend fun load(path: File): Model = making { Model(Native.modelLoad(path.path)) }

/** Load a model from its bytes, an asset of the app say; they are copied. */
suspend fun load(bytes: ByteArray): Model = load(ByteBuffer.wrap(bytes))

/** What lies between position and limit, likewise. */
suspend fun load(bytes: ByteBuffer): Model = making { Model(Native.modelParse(direct(bytes))) }

/**
 * What a model declares about an input or output.
 *
 * @property shape a size that is not known before run time is null; null: the rank is not known.
 * @property symbols names of dimensions, null where there is none; equal names are equal sizes within one
 *     run.
 */
data class ValueInfo(val name: String, val dtype: DType, val shape: List<Long?>?, val symbols: List<String?>)

/** A named way to call a model: public names and the graph's own. */
data class Signature(val name: String, val inputs: Map<String, String>, val outputs: Map<String, String>)

/** A verified model; immutable, shared by any number of sessions and threads. [load] makes it. */
class Model internal constructor(address: Long) : AutoCloseable {
    private val handle = Handle(address, "model", Native::modelFree).also { Net.watch(this, it) }

    val inputs: List<ValueInfo> = values(INPUTS)
    val outputs: List<ValueInfo> = values(OUTPUTS)

    /** Inputs with a value of their own, which a run may give another one. */
    val overridableInputs: List<ValueInfo> = values(OVERRIDABLE)

    /** Values that each session keeps for itself and every run updates. */
    val states: List<ValueInfo> = values(STATES)

    /** Free text that travels with the model. */
    val metadata: Map<String, String> = handle.use("Model") { pairs(Native.modelMetadata(it)) }

    val signatures: Map<String, Signature> = handle.use("Model") { model ->
        Native.modelSignatures(model).asList().chunked(SIGNATURE).associate { (name, inputs, outputs) ->
            (name as String) to Signature(name, pairs(inputs), pairs(outputs))
        }
    }

    /**
     * Make the model ready to run.
     *
     * @param backend where to run, or several in order of preference ("opencl,cpu").
     * @param threads at most this many; 0: every processor this process may keep busy.
     * @param precision "float32", "auto" or "bf16".
     * @param accuracy of faster ways to a result: "strict", "normal" or "fast".
     * @param tune of each operator so many of the likeliest choices are measured, 0 to 64.
     * @param maxPlans kept of each graph, one per class of shapes.
     * @param maxPlanBytes that plans may take together, the newest stays; 0: no bound.
     * @param planCache folder of kept decisions, "off": none, "": what WALLE_PLAN_CACHE says.
     * @param weightsCache folder of packed weights, likewise.
     * @param debug what to leave out of making a plan, for comparison.
     * @throws WalleException an option that is none, or a model that cannot be prepared.
     */
    @Suppress("LongParameterList")
    suspend fun session(
        backend: String = "cpu",
        threads: Int = 0,
        precision: String = "float32",
        accuracy: String = "normal",
        tune: Int = 0,
        maxPlans: Int = 64,
        maxPlanBytes: Long = 0,
        planCache: String = "",
        weightsCache: String = "",
        debug: String = "",
    ): Session {
        val texts = arrayOf(backend, precision, accuracy, planCache, weightsCache, debug)
        val given = Array(texts.size) { texts[it].ifEmpty { null } }
        val numbers = longArrayOf(threads.toLong(), tune.toLong(), maxPlans.toLong(), maxPlanBytes)
        return making { Session(handle.use("Model.session") { Native.sessionCreate(it, given, numbers) }) }
    }

    /** Its sessions keep what they need of it. Every later call is an error. */
    override fun close() = handle.close()

    private fun values(side: Int): List<ValueInfo> = handle.use("Model") { model ->
        rowsOf(Native.modelValues(model, side)).map { (name, dtype, shape, symbols) ->
            val sizes = (shape as LongArray?)?.map { size -> size.takeIf { it >= 0 } }
            ValueInfo(name as String, DType.of(dtype), sizes, (symbols as Array<*>).map { it as String? })
        }
    }

    private companion object {
        // As jni/model.cc numbers them.
        const val INPUTS = 0
        const val OUTPUTS = 1
        const val OVERRIDABLE = 2
        const val STATES = 3

        const val SIGNATURE = 3 // name, inputs, outputs

        /** Of key, value, key, value ... */
        fun pairs(flat: Any?): Map<String, String> =
            (flat as Array<*>).asList().chunked(2).associate { it[0] as String to it[1] as String }
    }
}
