package walle.rt.tests

// Of docs/how-to/connect-an-app.md, where tests/python/test_docs.py looks for it.
import java.io.File
import walle.rt.Device

suspend fun follow(device: Device, root: File, code: String?) {
    val state = device.connect(
        "https://cloud.example.com",
        root.readBytes(),
        app = "com.example.shop",
        appVersion = "10.30.4",
        enrolCode = code,
    )
    println("${state.device}: ${state.transport}")
}
