package android.util

object Log {
    fun w(tag: String, text: String): Int = error("a stand-in for $tag, $text")
}
