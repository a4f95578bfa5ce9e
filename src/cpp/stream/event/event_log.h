// EventLog: the device's event log: append is durable against kill -9 when it returns, against
// power loss after at most 256 events or 2 s when maintain() runs as it should; old
// events move to columnar segments and leave by age or quota.
//
// Threads: one appender; maintain() and read() may run beside it from another thread each. A directory has
// one log open for writing at a time, and any number that read. A log belongs to the process that opened it:
// in a child of fork() every call is an error, because two writers of one ring overwrite each other.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <mutex>

#include "base/fork.h"
#include "base/loop_thread.h"
#include "store/journal.h"
#include "store/journal_copy.h"
#include "store/sealed_env.h"
#include "stream/event/catalog_file.h"
#include "stream/event/event_query.h"
#include "stream/event/event_segment.h"
#include "stream/event/journal_marks.h"
#include "stream/event/log_manifest.h"
#include "stream/event/log_state.h"
#include "stream/event/manifest_check.h"
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
  // Reads what is there and changes nothing, beside a writer or on a disk that is full or read-only. The log
  // must exist, and the catalogue is its own.
  bool read_only = false;
  // A thread calls maintain().
  bool maintenance_thread = false;
  // Times are those of a recording: the device's clock has no say in which events are late (kTimeLate is the
  // caller's then).
  bool recorded_times = false;
  // 32 bytes with which everything but numbers, sizes and times of files is sealed (base/aead.h); empty:
  // nothing is. A log keeps the choice it began with.
  std::string key;
};

struct LogReport {
  store::JournalRecovery journal;
  uint64_t damaged_segments = 0;  // files set aside because they do not read
  uint64_t mended_copies = 0;     // catalogue, state and manifest: one of two copies was damaged or missing
  bool state_lost = false;        // accounts and readers' places, until somebody acknowledges it
  uint64_t erased = 0;            // events removed on purpose since the log began
};

// Which events erase() removes: those for which everything holds that is said.
struct EraseRule {
  std::optional<uint16_t> event;
  std::optional<uint16_t> page;
  std::optional<uint16_t> field;  // id of a field's name: events that carry it
  std::optional<Value> value;     // of that field; its text must outlive the call
};

// A rule by names; an error names what is not declared.
Result<EraseRule> erase_rule(const Catalog& catalog, const std::optional<std::string>& event,
                             const std::optional<std::string>& page, const std::optional<std::string>& field);

class EventLog {
 public:
  static Result<std::unique_ptr<EventLog>> open(Env& env, const std::string& dir, Catalog catalog,
                                                EventLogOptions options = {});
  ~EventLog();

  // Checks, places and records one event; `event.ts` is the device's time. Returns it as recorded; its
  // contents borrow from the caller's. `durable`: on the disk, with all before it, when it returns; after an
  // error of that sync alone the event is recorded.
  Result<Event> append(Event event, bool durable = false);
  // `follower` sees every event that append() records from now on; none for no one. Appender's thread.
  void follow(std::function<void(const Event&)> follower) { follower_ = std::move(follower); }
  bool followed() const { return follower_ != nullptr; }
  // Visits events with seq >= from, oldest first, until it returns false. A log that only reads looks anew
  // each time.
  Status read(uint64_t from, const std::function<bool(const Event&)>& visit);
  // The same for the events asked for: opens the segments they can lie in, and of the journal looks at little
  // more than them. `begin` is called before the first event, while nobody changes the catalogue it is given;
  // its error ends the reading.
  using Begin = std::function<Status(const Catalog&)>;
  Status read(const EventQuery& query, const Begin& begin, const std::function<bool(const Event&)>& visit);

  // Syncs when due, compacts a journal that is more than half
  // full, removes what retention says. Call it often.
  Status maintain();
  Status compact();  // everything in the journal into segments
  Status sync();
  // Adds to the catalogue (durably) while the log is open. Appender's thread.
  Status declare(const EventDecl& event);
  Result<uint16_t> page(std::string_view name);
  Result<uint16_t> state(std::string_view name);
  // A lower label for what is recorded from now on; events that are there keep theirs.
  Status lower(std::string_view event, std::string_view field, Sensitivity to);
  // See LogState::acknowledge_loss.
  Status acknowledge_state_loss(const std::map<std::string, double>& spent);

  // How far a named reader has come; a place beyond the newest event is an error.
  Result<uint64_t> cursor(const std::string& reader);
  Status set_cursor(const std::string& reader, uint64_t seq);

  // What is gone, until somebody has acknowledged it.
  Result<std::vector<Loss>> losses();
  // Forgets `seen`, as losses() gave them; what has come since stays.
  Status acknowledge(const std::vector<Loss>& seen);
  // Removes events for good, from segments and journal, and says how many; a crash in it is finished by the
  // next open. Appender's thread.
  Result<uint64_t> erase(const EraseRule& rule);

  // An error in a child of fork(). Asked by every call above; those below ask nobody.
  Status check_process() const;
  bool read_only() const { return options_.read_only; }
  const Catalog& catalog() const { return catalog_; }
  // Readers' places and privacy accounts.
  LogState& log_state() { return *state_; }
  const LogReport& report() const { return report_; }
  const SequencerStats& stats() const { return sequencer_.stats(); }
  uint64_t last_seq() const;
  // Events up to this number have left for quota or age. Any thread, without waiting, as the next.
  uint64_t removed() const { return removed_.load(std::memory_order_acquire); }
  // How many were erased since the log began; those that are just being erased count.
  uint64_t erased() const { return erased_.load(std::memory_order_acquire); }
  // Time of the newest event; INT64_MIN: there is none. Appender's thread.
  int64_t newest_ts() const { return sequencer_.last_ts(); }
  int64_t segment_bytes() const;

 private:
  EventLog(Env& env, std::unique_ptr<store::SealedEnv> sealed, std::string dir, Catalog catalog,
           EventLogOptions options)
      : below_(env),
        sealed_(std::move(sealed)),
        env_(sealed_ ? static_cast<Env&>(*sealed_) : env),
        dir_(std::move(dir)),
        catalog_(std::move(catalog)),
        options_(std::move(options)) {}
  // event_log_open.cc
  Status open_to_write();
  Status open_to_read();
  Status check_own_key();
  Result<uint64_t> load_manifest();
  Result<uint64_t> check_files(const store::JournalRecovery& found, size_t capacity);
  Status open_state();
  Status settle_segments();
  Status reserve_numbers();
  Status recover_sequencer();
  std::string journal_path() const { return dir_ + "/journal.walj"; }
  Result<store::MirroredFile> open_manifest() const;
  void close();
  // event_log_reader.cc
  Status look_anew();
  Status read_segments(const EventQuery& query, uint64_t& next,
                       const std::function<bool(const Event&)>& visit);
  Result<EventSegmentReader*> load(const store::SegmentEntry& entry);
  void let_go_of_segments();
  Status read_frames(uint64_t from, const std::function<bool(const Event&, size_t bytes)>& visit,
                     store::JournalPlace start = {}) const;
  // event_log_maintain.cc
  Status compact_all();
  Result<bool> write_segment();
  Status store_manifest();
  void tell_gone();
  Status retain();
  // event_log_erase.cc
  Status finish_erasing();
  Status erase_in(store::SegmentEntry& segment);

  Status check_event(const Event& e);
  Result<uint64_t> commit(const Event& e, size_t size);
  Status check_writable(std::string_view what) const;
  Status make_room(size_t size);
  bool is_late(const Event& e);

  Env& below_;
  std::unique_ptr<store::SealedEnv> sealed_;  // with a key
  Env& env_;                                  // the one of both that files go through
  std::string dir_;
  Catalog catalog_;
  EventLogOptions options_;
  uint64_t process_ = base::fork_generation();
  std::unique_ptr<store::Journal> journal_;
  store::JournalCopy copy_;  // instead of it, of a log that only reads
  std::optional<CatalogFile> catalog_file_;
  std::unique_ptr<LogState> state_;
  bool opened_ = false;  // to the end, for writing
  std::optional<store::MirroredFile> manifest_file_;
  LogManifest manifest_;
  std::atomic<uint64_t> removed_{0}, erased_{0};
  bool manifest_known_ = true;  // false: its file was damaged or is gone
  FoundSegments found_;         // what opening is still to do with files
  struct Loaded {
    store::SegmentEntry entry;
    std::unique_ptr<LoadedSegment> segment;
    uint64_t used = 0;  // by which load(); 0: never
  };
  // Those read last: two, because a match may begin in one and end in the next.
  std::array<Loaded, 2> loaded_;
  uint64_t loads_ = 0, loads_before_ = 0;
  mutable std::mutex files_;  // manifest_, loaded_, catalog_ while it grows, and the journal's tail
  std::mutex maintaining_;
  JournalMarks marks_;
  Sequencer sequencer_;
  // Times up to here are accepted without asking the clock, which costs as much as all other checks;
  // maintain() renews it.
  std::atomic<int64_t> latest_ts_{0};
  std::function<void(const Event&)> follower_;
  LogReport report_;
  int64_t synced_at_ = 0;
  int64_t full_until_us_ = 0;  // of the steady clock: no further compaction by append(), the disk is full
  std::unique_ptr<base::LoopThread> maintainer_;  // last: its thread uses all of the above
};

}  // namespace walle::stream
