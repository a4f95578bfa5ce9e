package walle.rt

import java.util.TimeZone
import java.util.concurrent.TimeUnit

/**
 * The offsets of a time zone for the device, which knows none: from when on (us since 1970) local time is how
 * far ahead of UTC. java.time would know them; Android has it from API 26 on.
 */
internal fun offsetChanges(zone: TimeZone): LongArray {
    // What logs of phones may hold, and as long as a device lives; a day's step finds each change, since no
    // zone changes twice within one.
    val first = 946_684_800_000 // 2000-01-01
    val last = 2_366_841_600_000 // 2045-01-01
    val step = TimeUnit.DAYS.toMillis(1)
    val found = mutableListOf(first to zone.getOffset(first))
    for (day in first until last step step) {
        val offset = zone.getOffset(day + step)
        if (offset != found.last().second) found += change(zone, day, day + step) to offset
    }
    return found.flatMap { (at, offset) -> listOf(us(at), us(offset.toLong())) }.toLongArray()
}

private fun us(ms: Long): Long = TimeUnit.MILLISECONDS.toMicros(ms)

/** The first second of the later of two offsets. */
private fun change(zone: TimeZone, day: Long, next: Long): Long {
    val second = TimeUnit.SECONDS.toMillis(1)
    var before = day
    var after = next
    while (after - before > second) {
        val middle = before + (after - before) / 2 / second * second
        if (zone.getOffset(middle) == zone.getOffset(day)) before = middle else after = middle
    }
    return after
}
