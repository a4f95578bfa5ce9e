import CWalle
import Foundation

/// The offsets of a time zone for the device, which knows none: from when on (us since 1970) local time is
/// how far ahead of UTC.
func offsetChanges(_ zone: TimeZone) -> [walle_utc_offset_t] {
    // What logs of phones may hold, and as long as a device lives; a day's step finds each change, since no
    // zone changes twice within one. `nextDaylightSavingTimeTransition` does not see zones that move.
    let first = 946_684_800  // 2000-01-01
    let last = 2_366_841_600  // 2045-01-01
    let day = 86_400
    var found = [(at: first, offset: zone.offset(first))]
    for begin in stride(from: first, to: last, by: day) {
        let offset = zone.offset(begin + day)
        if offset != found.last?.offset { found.append((zone.change(begin, begin + day), offset)) }
    }
    return found.map { walle_utc_offset_t(from_us: us($0.at), offset_us: us($0.offset)) }
}

private func us(_ seconds: Int) -> Int64 { Int64(seconds) * 1_000_000 }

extension TimeZone {
    fileprivate func offset(_ at: Int) -> Int {
        secondsFromGMT(for: Date(timeIntervalSince1970: TimeInterval(at)))
    }

    /// The first second of the later of two offsets.
    fileprivate func change(_ begin: Int, _ end: Int) -> Int {
        var (before, after) = (begin, end)
        while after - before > 1 {
            let middle = (before + after) / 2
            if offset(middle) == offset(begin) { before = middle } else { after = middle }
        }
        return after
    }
}
