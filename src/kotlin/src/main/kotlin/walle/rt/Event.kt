package walle.rt

/** How much a field says about a person: what a policy lets leave the device goes by it. */
enum class Sensitivity { OPEN, PERSONAL, SECRET }

/** A field of an event: [ColumnType.INT], FLOAT, BOOL or TEXT of at most 16,384 bytes. */
data class Field(val type: ColumnType, val sensitivity: Sensitivity = Sensitivity.PERSONAL)

/**
 * An event to record.
 *
 * @property name a declared name.
 * @property page a declared page, "" for none; of `app_state` a declared state.
 * @property contents values of declared fields.
 * @property ts microseconds since 1970; null: now.
 * @property on of `app_state`: whether the state begins or ends.
 * @property durable return when the event survives a power loss; otherwise it survives a killed process.
 */
data class Event(
    val name: String,
    val page: String = "",
    val contents: Map<String, Any?> = emptyMap(),
    val ts: Long? = null,
    val on: Boolean = true,
    val durable: Boolean = false,
)
