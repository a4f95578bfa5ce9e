package android.os

class Bundle

object Build {
    val MODEL: String get() = error("a stand-in")

    object VERSION {
        val RELEASE: String get() = error("a stand-in")
    }
}
