package com.example.shop

import android.content.Context
import android.os.Build
import java.io.File
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.SupervisorJob
import kotlinx.coroutines.async
import kotlinx.coroutines.launch
import walle.rt.AppFunction
import walle.rt.Device
import walle.rt.WalleException

/** The app's device: one per process, opened at the first use. */
object Shop {
    const val TASK = "suggest"

    private val scope = CoroutineScope(SupervisorJob() + Dispatchers.Default)
    @Volatile private var opening: kotlinx.coroutines.Deferred<Device>? = null

    /** What is on stock only the app knows; the task asks. */
    private val stock = mapOf("cup" to 3L, "lamp" to 0L)

    suspend fun device(context: Context): Device {
        val here = context.applicationContext
        val opened = synchronized(this) { opening ?: scope.async { open(here) }.also { opening = it } }
        return opened.await()
    }

    private suspend fun open(context: Context): Device {
        // Not in what the system backs up: a device is one, and its identity is not copied.
        val folder = File(context.noBackupFilesDir, "walle")
        val device = Device.open(folder, app = mapOf("stock" to AppFunction { (item) -> stock[item] ?: 0L }))
        // The task that came with the app, until the server's plan says otherwise.
        if (TASK !in device.tasks()) {
            device.install(context.assets.open("$TASK.wtask").use { it.readBytes() })
        }
        scope.launch { follow(context, device) }
        return device
    }

    /** Where the app was given a server: `server.txt` of its assets has its address and a code. */
    private suspend fun follow(context: Context, device: Device) {
        if ("server.txt" !in context.assets.list("").orEmpty()) return
        val (url, code) = context.assets.open("server.txt").bufferedReader().use { it.readLines() }
        val root = context.assets.open("root.json").use { it.readBytes() }
        try {
            device.connect(
                url, root, "com.example.shop", "1.0.0",
                enrolCode = code, device = Build.MODEL, osVersion = Build.VERSION.RELEASE,
            )
        } catch (away: WalleException) {
            android.util.Log.w("shop", "no server: ${away.given}; ${away.nextStep}")
        }
    }
}
