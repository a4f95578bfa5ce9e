package android.widget

import android.content.Context
import android.view.View

open class TextView(context: Context) : View(context) {
    var text: CharSequence = ""
}

class Button(context: Context) : TextView(context)

class LinearLayout(context: Context) : View(context) {
    var orientation = 0

    fun addView(view: View): Unit = error("a stand-in for $view")

    companion object {
        const val VERTICAL = 1
    }
}
