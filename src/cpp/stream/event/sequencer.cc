#include "stream/event/sequencer.h"

#include <algorithm>

namespace walle::stream {

// Whether the row of earlier events that goes on with `own` has become a correction of the clock.
bool Sequencer::corrected(int64_t own) {
  // Events of one process come in order but for a little; a row that goes back itself begins anew.
  const bool goes_on = earlier_ && own >= earlier_first_;
  if (!goes_on) earlier_first_ = own;
  earlier_ = true;
  earlier_last_ = std::max(goes_on ? earlier_last_ : own, own);
  return earlier_last_ - earlier_first_ >= kRebaseAfterUs;
}

// The time of an event behind a pause that ends the session: what the pause takes beyond that is given back
// to the clock.
int64_t Sequencer::after_pause(int64_t own) const {
  const int64_t begun = active_ts_ == INT64_MIN ? last_ts_ : active_ts_;
  return std::min(own + shift_, std::max({own, last_ts_, begun + kSessionGapUs + 1}));
}

void Sequencer::place_in_time(Event& e, bool late) {
  e.own_ts = e.ts;
  const int64_t shifted = last_ts_ == INT64_MIN ? e.ts : after_pause(e.ts);
  if (shifted >= last_ts_) {
    // By its own time where that is not before the newest one: the clock has caught up.
    const bool caught_up = e.ts >= last_ts_;
    e.ts = caught_up ? e.ts : shifted;
    earlier_ = false;
  } else if (!late && corrected(e.ts)) {
    // As much later as the row of earlier events lasted, during which time stood still.
    e.ts = last_ts_ + (earlier_last_ - earlier_first_);
    e.flags |= kTimeShifted;
    earlier_ = false;
    ++stats_.rebased_clocks;
  } else {
    // Repaired rather than refused: a lost event is worse than one a little late.
    e.ts = last_ts_;
    e.flags |= late ? kTimeRepaired | kTimeLate : kTimeRepaired;
    ++stats_.repaired_times;
    stats_.late_events += late;
    return;
  }
  shift_ = e.ts - e.own_ts;
  if (shift_ == 0) return;
  e.flags |= kTimeShifted;
  ++stats_.repaired_times;
}

void Sequencer::place(Event& e, EventKind kind, uint64_t seq, bool late) {
  place_in_time(e, late);
  last_ts_ = e.ts;
  // A session is a matter of time alone: one that ended takes its open pages with it.
  if (kind != EventKind::timer) {
    if (!session_ || e.ts - active_ts_ > kSessionGapUs) {
      session_ = seq;
      depth_ = 0;
    }
    active_ts_ = e.ts;
  }
  e.session = session_;
  e.page_instance = 0;
  // These are about the device, not about a page.
  if (kind == EventKind::app_state || kind == EventKind::timer) return;
  if (kind == EventKind::page_enter) {
    // The outermost gives way: what the user does now belongs to the innermost.
    if (depth_ == open_.size()) {
      std::move(open_.begin() + 1, open_.end(), open_.begin());
      --depth_;
      ++stats_.overflowed_pages;
    }
    open_[depth_++] = {seq, e.page};
    e.page_instance = seq;
    return;
  }
  // From the inside out, because the same page may be open twice (an item opened from an item).
  size_t at = depth_;  // the innermost open instance of the event's page
  while (at > 0 && open_[at - 1].page != e.page) --at;
  if (at > 0) e.page_instance = open_[at - 1].instance;
  if (kind != EventKind::page_exit) return;
  if (at == 0) {
    // Its enter lies before the log or before a kill; the event is kept and says so.
    e.flags |= kPageUnpaired;
    ++stats_.unpaired_pages;
    return;
  }
  if (at < depth_) {
    e.flags |= kPageClosedInner;
    stats_.closed_inner += depth_ - at;
  }
  depth_ = at - 1;
}

void Sequencer::recover(const Event& e, EventKind kind) {
  session_ = e.session;
  // What lies before the newest segment is not read: where that holds timers alone, the first stands for it.
  if (kind != EventKind::timer || active_ts_ == INT64_MIN) active_ts_ = std::max(active_ts_, e.ts);
  if (e.flags & kTimeRepaired) {
    // A row of earlier events goes on over a restart. It was none of a correction yet, or it would say so.
    if (!(e.flags & kTimeLate)) static_cast<void>(corrected(e.own_ts));
  } else {
    earlier_ = false;
    shift_ = e.flags & kTimeShifted ? e.ts - e.own_ts : 0;
  }
  last_ts_ = std::max(last_ts_, e.ts);
}

}  // namespace walle::stream
