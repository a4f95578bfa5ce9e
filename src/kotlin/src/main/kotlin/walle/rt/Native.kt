package walle.rt

import java.io.File
import java.nio.ByteBuffer

/** Where libwalle_jni and the VM's library lie. */
internal object Library {
    /** The folder of both; without it the system's search finds them, as in an app's package. */
    private val folder: File? = System.getProperty("walle.library.path")?.let(::File)

    fun load() {
        val name = "walle_jni"
        if (folder == null) System.loadLibrary(name) else System.load(file(System.mapLibraryName(name)))
    }

    /** The VM that runs tasks. */
    fun vm(): String = System.mapLibraryName("walle_vm_device").let { if (folder == null) it else file(it) }

    private fun file(name: String): String = File(folder, name).absolutePath
}

/**
 * The functions of src/kotlin/jni, which convert and call the C API. Handles are addresses: [Handle] sees
 * that none is used once it is freed. What each array holds stands beside the function over there.
 */
@Suppress("LongParameterList", "TooManyFunctions")
internal object Native {
    init {
        Library.load()
    }

    @JvmStatic external fun version(): String
    @JvmStatic external fun dtypeName(dtype: Int): String?
    @JvmStatic external fun dtypeSize(dtype: Int): Int

    @JvmStatic external fun modelLoad(path: String): Long
    @JvmStatic external fun modelParse(bytes: ByteBuffer): Long
    @JvmStatic external fun modelFree(model: Long)
    @JvmStatic external fun modelValues(model: Long, side: Int): Array<Any?>
    @JvmStatic external fun modelMetadata(model: Long): Array<Any?>
    @JvmStatic external fun modelSignatures(model: Long): Array<Any?>

    @JvmStatic external fun sessionCreate(model: Long, texts: Array<String?>, numbers: LongArray): Long
    @JvmStatic external fun sessionFree(session: Long)
    @JvmStatic external fun sessionRun(
        session: Long, signature: String?, timeout: Double, cancel: Long,
        names: Array<String>, dtypes: IntArray, shapes: Array<LongArray>, memory: Array<ByteBuffer?>,
        outNames: Array<String>, outDtypes: IntArray, outShapes: Array<LongArray>,
        outMemory: Array<ByteBuffer?>,
    ): Array<Any?>
    @JvmStatic external fun sessionPrepare(
        session: Long,
        names: Array<String>, dtypes: IntArray, shapes: Array<LongArray>, memory: Array<ByteBuffer?>,
    )
    @JvmStatic external fun sessionExplain(session: Long): String
    @JvmStatic external fun sessionState(session: Long, name: String): Array<Any?>
    @JvmStatic external fun sessionSetState(
        session: Long,
        names: Array<String>, dtypes: IntArray, shapes: Array<LongArray>, memory: Array<ByteBuffer?>,
    )
    @JvmStatic external fun sessionResetStates(session: Long)
    @JvmStatic external fun cancelCreate(): Long
    @JvmStatic external fun cancelRequest(cancel: Long)
    @JvmStatic external fun cancelFree(cancel: Long)

    @JvmStatic external fun deviceOpen(
        path: String, vmLibrary: String, numbers: LongArray, key: ByteArray?,
        appNames: Array<String>, appNumbers: LongArray,
    ): Long
    @JvmStatic external fun deviceClose(device: Long)
    @JvmStatic external fun deviceFree(device: Long)
    @JvmStatic external fun deviceDeclare(
        device: Long, event: String, names: Array<String>, types: LongArray, sensitivities: LongArray,
    )
    @JvmStatic external fun deviceDeclarePage(device: Long, page: String)
    @JvmStatic external fun deviceDeclareState(device: Long, state: String)
    @JvmStatic external fun deviceRecord(
        device: Long, event: String, page: String, fields: Array<String>, values: Array<Any?>,
        ts: Long, on: Boolean, durable: Boolean,
    ): Long
    @JvmStatic external fun deviceAdvance(device: Long, now: Long)
    @JvmStatic external fun deviceInstall(device: Long, path: String)
    @JvmStatic external fun deviceInstallData(device: Long, bytes: ByteArray)
    @JvmStatic external fun deviceRemove(device: Long, task: String)
    @JvmStatic external fun deviceSetFact(device: Long, fact: String, holds: Boolean)
    @JvmStatic external fun deviceSetLocalTime(device: Long, offsets: LongArray)
    @JvmStatic external fun deviceTasks(device: Long): Array<Any?>
    @JvmStatic external fun deviceLosses(device: Long, verify: Boolean): Array<Any?>
    @JvmStatic external fun deviceAcknowledgeLosses(device: Long)
    @JvmStatic external fun deviceWait(device: Long, ms: Int): Boolean
    @JvmStatic external fun deviceOnResult(device: Long, number: Long)

    @JvmStatic external fun deviceCall(
        device: Long, task: String, function: String, arguments: Array<Any?>, timeout: Double,
    ): Any?
    @JvmStatic external fun deviceFeatures(device: Long, task: String, name: String, keys: Any?): Any?
    @JvmStatic external fun deviceSetParams(device: Long, task: String, params: Any?)
    @JvmStatic external fun deviceProvide(device: Long, name: String, number: Long)
    @JvmStatic external fun deviceRead(
        device: Long, task: String, table: String, from: Long, limit: Long,
    ): Array<Any?>

    @JvmStatic external fun deviceConnect(
        device: Long, texts: Array<String?>, root: ByteArray?, numbers: LongArray,
    )
    @JvmStatic external fun deviceDisconnect(device: Long)
    @JvmStatic external fun deviceCloud(device: Long): Array<Any?>
    @JvmStatic external fun deviceHeader(device: Long): String
    @JvmStatic external fun deviceSawHeader(device: Long, name: String, value: String)
    @JvmStatic external fun devicePull(device: Long)
    @JvmStatic external fun httpTake(sink: Long, bytes: ByteArray, size: Int): Boolean
}
