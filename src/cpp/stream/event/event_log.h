// The device's event log: append is durable against kill -9 when it returns, against
// power loss after at most 256 events or 2 s when maintain() runs as it should; old
// events move to columnar segments and leave by age or quota.
//
// Threads: one appender; maintain() and read() may run beside it from another thread each. A directory has
// one log open at a time.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>

#include "store/index.h"
#include "store/journal.h"
#include "stream/event/event_segment.h"
#include "stream/event/sequencer.h"

namespace walle::stream {

struct EventLogOptions {
  // Some 40,000 events of 100 bytes, and little enough to stay mapped on a phone.
  size_t journal_bytes = 4 << 20;
  int64_t quota_bytes = int64_t{64} << 20;  // of all segments
  int64_t max_age_us = 30 * kDayUs;
  // maintain() syncs when so many wait or so long has passed: half of what a power loss may take, because the
  // other half comes between two calls of it.
  uint64_t sync_events = 128;
  int64_t sync_us = kSecondUs;
};

struct LogReport {
  store::JournalRecovery journal;
  uint64_t damaged_segments = 0;  // files set aside because they do not read
  bool index_rebuilt = false;
};

class EventLog {
 public:
  static Result<std::unique_ptr<EventLog>> open(Env& env, const std::string& dir, Catalog catalog,
                                                EventLogOptions options = {});

  // Checks, places and records one event; `event.ts` is the device's time. Returns it as recorded; its
  // contents borrow from the caller's.
  Result<Event> append(Event event);
  // `follower` sees every event that append() records from now on; none for no one. Appender's thread.
  void follow(std::function<void(const Event&)> follower) { follower_ = std::move(follower); }
  bool followed() const { return follower_ != nullptr; }
  // Visits events with seq >= from, oldest first, until it returns false.
  Status read(uint64_t from, const std::function<bool(const Event&)>& visit);

  // Syncs when due, compacts a journal that is more than half
  // full, removes what retention says. Call it often.
  Status maintain();
  Status compact();  // everything in the journal into segments
  Status sync() { return journal_->sync(); }
  // Adds to the catalogue (durably) while the log is open. Appender's thread.
  Status declare(const EventDecl& event);
  Result<uint16_t> page(std::string_view name);
  Result<uint16_t> state(std::string_view name);

  const Catalog& catalog() const { return catalog_; }
  store::Index& index() { return *index_; }
  const LogReport& report() const { return report_; }
  const SequencerStats& stats() const { return sequencer_.stats(); }
  uint64_t last_seq() const { return journal_->last_seq(); }
  int64_t segment_bytes() const;

 private:
  EventLog(Env& env, std::string dir, Catalog catalog, EventLogOptions options)
      : env_(env), dir_(std::move(dir)), catalog_(std::move(catalog)), options_(options) {}
  Status adopt_segments();
  Status recover_sequencer();
  Status store_catalog();
  Result<bool> write_segment();
  template <class Visit>
  Status read_journal(uint64_t from, Visit&& visit) const;
  Status retain();
  Status check_event(const Event& e);

  Env& env_;
  std::string dir_;
  Catalog catalog_;
  EventLogOptions options_;
  std::unique_ptr<store::Journal> journal_;
  std::unique_ptr<store::Index> index_;
  std::vector<store::SegmentEntry> segments_;
  mutable std::mutex files_;  // segments_ and the journal's tail
  Sequencer sequencer_;
  // Times up to here are accepted without asking the clock, which costs as much as all other checks;
  // maintain() renews it.
  std::atomic<int64_t> latest_ts_{0};
  std::function<void(const Event&)> follower_;
  LogReport report_;
  int64_t synced_at_ = 0;
};

}  // namespace walle::stream
