#include "stream/event/sequencer.h"

#include <algorithm>

namespace walle::stream {

void Sequencer::place(Event& e, EventKind kind, uint64_t seq) {
  // Repaired rather than refused: clocks go back on every device (NTP, time zones set by hand), and a lost
  // event is worse than one a second late.
  if (e.ts < last_ts_) {
    e.ts = last_ts_;
    e.flags |= kTimeRepaired;
    ++stats_.repaired_times;
  }
  // A session is a matter of time alone: one that ended takes its open pages with it.
  if (!session_ || e.ts - last_ts_ > kSessionGapUs) {
    session_ = seq;
    depth_ = 0;
  }
  last_ts_ = e.ts;
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

void Sequencer::recover(const Event& e) {
  last_ts_ = std::max(last_ts_, e.ts);
  session_ = e.session;
}

}  // namespace walle::stream
