// Which events a match began and ended with: matching knows times and places within a microsecond, the log
// has the numbers.
#include <algorithm>

#include "stream/processor/processor_parts.h"

namespace walle::stream {

namespace {
// A microsecond of more than 1,024 events runs over into the next ones: 65,536 events are followed.
constexpr int64_t kRunOverUs = 64;

// Numbers events as MatchClock does. Where one of a microsecond is gone - erased, or left behind by the quota
// - nobody knows which of the others is the nth: then the answer is none, never another event.
class PlaceSearch {
 public:
  PlaceSearch(const EventPlace& place, const Catalog& catalog)
      : catalog_(catalog),
        from_(place.ts - kRunOverUs),
        wanted_((uint64_t{kRunOverUs} << kKeyShift) + place.nth) {}

  bool visit(const Event& e) {
    if (before_ == 0) {
      first_ts_ = e.ts;
      first_ = e.seq;
    } else if (e.seq != before_ + 1) {
      gap_ts_ = e.ts;
    }
    before_ = e.seq;
    if (catalog_.events()[e.event].kind == EventKind::timer) return true;  // has no place
    key_ = std::max(static_cast<uint64_t>(e.ts - from_) << kKeyShift, key_ + 1);
    if (key_ < wanted_) return true;
    if (key_ == wanted_ && e.ts != gap_ts_) found_ = e;
    return false;
  }
  // Whether nothing is missing before the first of the microsecond is for the log to say.
  bool asks_before() const { return found_.seq != 0 && found_.ts == first_ts_ && first_ > 1; }
  uint64_t before_first() const { return first_ - 1; }
  const Event& found() const { return found_; }

 private:
  const Catalog& catalog_;
  const int64_t from_;
  const uint64_t wanted_;
  uint64_t key_ = 0, before_ = 0, first_ = 0;
  int64_t first_ts_ = 0, gap_ts_ = INT64_MIN;
  Event found_;  // without contents that hold
};
}  // namespace

Result<Processor::Parts::Found> Processor::Parts::find(const EventPlace& place) {
  if (place.nth == EventPlace::kNowhere) return Found{};
  PlaceSearch search(place, log->catalog());
  const EventQuery there{
      .from_ts = place.ts - kRunOverUs, .to_ts = place.ts, .session = {}, .page_instance = {}};
  WALLE_TRY(log->read(there, nullptr, [&](const Event& e) { return search.visit(e); }));
  bool sure = search.found().seq != 0;
  if (search.asks_before()) {
    sure = false;
    WALLE_TRY(log->read(search.before_first(), [&](const Event& e) {
      sure = e.seq == search.before_first();
      return false;
    }));
  }
  if (!sure) return Found{};
  const Event& e = search.found();
  return Found{.seq = e.seq, .session = e.session, .page_instance = e.page_instance};
}

Status Processor::locate(TaskFiring& f) {
  // The event that fired it, which nearly always is the last and often the first.
  const bool waited = f.last.nth != EventPlace::kNowhere && f.last.ts != f.ts;
  Parts::Found last{.seq = f.last.nth == EventPlace::kNowhere ? 0 : f.seq};
  if (waited) {
    WALLE_ASSIGN(last, parts_->find(f.last));
  }
  f.last_seq = last.seq;
  const EventPlace first{.ts = f.start_ts, .nth = f.start_nth};
  if (first == f.last) {
    f.start_seq = f.last_seq;
  } else {
    WALLE_ASSIGN(const Parts::Found found, parts_->find(first));
    f.start_seq = found.seq;
  }
  if (!waited || last.seq == 0) return {};
  f.session = last.session;
  f.page_instance = last.page_instance;
  return {};
}

}  // namespace walle::stream
