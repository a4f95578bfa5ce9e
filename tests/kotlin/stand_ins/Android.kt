// The few classes of Android that examples/android uses, so that its sources are compiled here: what they
// take and give, and nothing of what they do.
package android.content

import java.io.File
import java.io.InputStream

abstract class AssetManager {
    abstract fun open(name: String): InputStream
    abstract fun list(path: String): Array<String>?
}

abstract class Context {
    abstract val applicationContext: Context
    abstract val noBackupFilesDir: File
    abstract val assets: AssetManager
}
