package com.example.shop

import android.app.Activity
import android.os.Bundle
import android.widget.Button
import android.widget.LinearLayout
import android.widget.TextView
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.MainScope
import kotlinx.coroutines.cancel
import kotlinx.coroutines.launch
import kotlinx.coroutines.withContext

/** Two goods to look at, and what the task suggests. */
class MainActivity : Activity() {
    private val scope = MainScope()

    override fun onCreate(state: Bundle?) {
        super.onCreate(state)
        val page = LinearLayout(this)
        page.orientation = LinearLayout.VERTICAL
        val suggestion = TextView(this)
        page.addView(suggestion)
        for (item in listOf("cup", "lamp")) page.addView(button(item))
        setContentView(page)
        scope.launch { show(suggestion) }
    }

    override fun onDestroy() {
        scope.cancel()
        super.onDestroy()
    }

    private fun button(item: String): Button {
        val made = Button(this)
        made.text = item
        made.setOnClickListener { scope.launch(Dispatchers.IO) { look(item) } }
        return made
    }

    private suspend fun look(item: String) {
        Shop.device(this).record("look", contents = mapOf("item" to item))
    }

    /** Every row that the task leaves, those of before included. */
    private suspend fun show(suggestion: TextView) {
        Shop.device(this).results(Shop.TASK, "suggestions").follow().collect { row ->
            withContext(Dispatchers.Main) { suggestion.text = "Look at: ${row["item"]} (${row["looks"]})" }
        }
    }
}
