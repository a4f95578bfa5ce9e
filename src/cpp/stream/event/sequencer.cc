#include "stream/event/sequencer.h"

#include <algorithm>

namespace walle::stream {

void Sequencer::place(Event& e, EventKind kind, uint64_t seq) {
  if (e.ts < last_ts_) {
    e.ts = last_ts_;
    e.flags |= kTimeRepaired;
    ++stats_.repaired_times;
  }
  if (!session_ || e.ts - last_ts_ > kSessionGapUs) {
    session_ = seq;
    depth_ = 0;
  }
  last_ts_ = e.ts;
  e.session = session_;
  e.page_instance = 0;
  if (kind == EventKind::app_state || kind == EventKind::timer) return;
  if (kind == EventKind::page_enter) {
    if (depth_ == open_.size()) {
      std::move(open_.begin() + 1, open_.end(), open_.begin());
      --depth_;
      ++stats_.overflowed_pages;
    }
    open_[depth_++] = {seq, e.page};
    e.page_instance = seq;
    return;
  }
  size_t at = depth_;  // the innermost open instance of the event's page
  while (at > 0 && open_[at - 1].page != e.page) --at;
  if (at > 0) e.page_instance = open_[at - 1].instance;
  if (kind != EventKind::page_exit) return;
  if (at == 0) {
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
