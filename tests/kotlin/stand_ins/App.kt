package android.app

import android.content.AssetManager
import android.content.Context
import android.os.Bundle
import android.view.View
import java.io.File

open class Activity : Context() {
    override val applicationContext: Context get() = this
    override val noBackupFilesDir: File get() = error("a stand-in")
    override val assets: AssetManager get() = error("a stand-in")

    open fun onCreate(state: Bundle?) = Unit
    open fun onDestroy() = Unit
    fun setContentView(view: View): Unit = error("a stand-in for $view")
}
