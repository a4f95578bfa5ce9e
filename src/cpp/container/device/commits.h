// Commits: the redo journal of a device: everything that one finished firing leaves - result rows, permitted
// sends, changes of the task's state, and that it is done - in one frame, which is accepted whole or not at
// all.
//
// commit() survives kill -9 when it returns, and a power loss behind the next sync(); what the outbox gives
// to a reader is always synced first. Tables, ledger and outbox apply frames in order and each remembers the
// frame up to which its own files hold everything; open() replays what they lack, so that a crash at any
// point leaves all of a firing or nothing, never half and never twice. checkpoint() brings their files up to
// date and lets go of the frames.
//
// A journal that lost its newest frames loses whole firings: they are not settled, and whoever handed them
// out does it again. Rows and records keep their numbers all the same, and the gate counts the rest of that
// day's budgets as spent.
//
// Thread-safe: commit(), acknowledge() and settled() from any thread; checkpoint() beside them. A folder has
// one writer. In a child of fork() every change is an error.
#pragma once

#include <atomic>
#include <deque>
#include <functional>

#include "base/fork.h"
#include "container/device/retries.h"
#include "container/host/pending_event.h"
#include "store/journal.h"
#include "store/sealed_env.h"
#include "store/state_file.h"
#include "store/state_map.h"
#include "store/tables.h"
#include "stream/egress/egress.h"
#include "stream/egress/outbox.h"

namespace walle::container {

// Names in a device's folder.
inline constexpr const char* kCommitsJournal = "/commits.walj";
inline constexpr const char* kCommitsState = "/commits.wals";
inline constexpr const char* kCommitsTables = "/tables";
inline constexpr const char* kCommitsMaps = "/kv";

// The least that one frame - {crc, size, number} and a payload -, one row and one record take of the journal:
// they bound how many numbers can be given out between two checkpoints.
inline constexpr size_t kLeastFrame = 24;
inline constexpr size_t kLeastRow = 9;
inline constexpr size_t kLeastRecord = 41;

struct CommitsOptions {
  // A commit takes at most a quarter of it.
  size_t journal_bytes = 8 << 20;
  stream::OutboxOptions outbox;
  // maintain() writes rows into segments when a table has so many waiting, or the oldest waits so long.
  uint64_t batch_rows = 4096;
  int64_t batch_us = 60'000'000;
  int64_t sync_us = 1'000'000;
  std::string key;  // 32 bytes that seal every file; empty: nothing is sealed
};

struct Commit {
  std::string task;
  uint64_t number = 0;  // of the firing: it and all before it are settled. 0: settles nothing
  std::vector<store::TableRows> rows;
  std::vector<stream::Permit> sends;
  // Of a firing that is to be tried again, or that was and is done with (container/device/retries.h).
  uint64_t retried = 0;
  std::string retry;
  // Of maps() that are open, in order; nullopt removes a key.
  struct Change {
    std::string map, key;
    std::optional<std::string> value;
  };
  std::vector<Change> state;
  std::vector<RecordedEvent> events;
  // An error of group argument where the map has another value by now.
  std::optional<Change> only_if;
};

struct CommitsReport {
  store::JournalRecovery journal;
  uint64_t replayed = 0;    // frames that some file lacked
  uint64_t unread = 0;      // frames that are none: of a newer version
  uint64_t lost = 0;        // commits that the journal has lost, at most
  bool state_lost = false;  // settled numbers are not known, until acknowledged
};

struct FrameOut;  // container/device/commit_frame.h

class Commits {
 public:
  static Result<std::unique_ptr<Commits>> open(Env& env, const std::string& dir, CommitsOptions options = {});
  ~Commits();

  // All of it or nothing; returns the number of the frame. An error of group argument: a commit that is too
  // large or whose rows are none of a declared table; of group resource: a full disk or journal. What is in
  // its permits is spent when it returns.
  Result<uint64_t> commit(const Commit& commit);
  // Number of the newest settled firing of a task; 0: none.
  uint64_t settled(const std::string& task) const;

  // Tables of this folder; rows go in through commit() alone.
  Status declare(const store::TableDecl& decl);
  Status drop(const std::string& table);
  store::Tables& tables() { return *tables_; }
  // What tasks keep under keys, a map each; changes go in through commit() alone.
  store::StateMaps& maps() { return *maps_; }
  Status acknowledge(const std::vector<store::Loss>& seen);

  Retries& retries() { return retries_; }
  // Nothing of the task is tried again.
  Status forget_retries(const std::string& task);

  stream::EgressGate& gate() { return *gate_; }
  const stream::Outbox& outbox() const { return *outbox_; }
  // Records of a stream, all of them on the disk before they are given out: none is sent that a power loss
  // could take out of the ledger.
  Result<std::vector<stream::OutboxRecord>> read_outbox(const std::string& stream, uint64_t from = 0,
                                                        size_t limit = SIZE_MAX);
  // Records up to `seq` have arrived.
  Status acknowledge(const std::string& stream, uint64_t seq);
  // Called behind each commit that sends, by the thread that commits; it must not wait, and not call this.
  // None for no one; behind the return the one before is not called any more.
  void on_send(std::function<void()> callback);
  Status acknowledge_outbox_loss();

  Status sync();
  // Syncs when due, and checkpoints when the journal is half full or a batch is. Call it often.
  Status maintain();
  Status checkpoint();
  // Where events that commits record go from now on; nullptr: they wait. Those of before the open wait too:
  // oldest() tells of the first, and behind recorded() those up to an id are known to be there.
  void record_into(EventRecorder* recorder);
  std::optional<PendingEvent> oldest() const;
  void recorded(int64_t id);
  // What waits goes its way; commit() does the same. After an error - a full disk - it waits.
  Status drain();
  // Time that passes for what expires; none: the wall clock.
  void go_by(std::function<int64_t()> clock) { clock_ = std::move(clock); }
  int64_t now_us() const { return clock_ ? clock_() : env_.wall_us(); }
  const CommitsReport& report() const { return report_; }
  // Commits that a journal has lost, at most, until acknowledged.
  uint64_t lost() const;
  // Commits or settled numbers were lost: firings that were done may be done again. Behind this, nobody is
  // told.
  Status acknowledge_state_loss();
  uint64_t last() const { return journal_->last_seq(); }

 private:
  Commits(Env& env, std::unique_ptr<store::SealedEnv> sealed, std::string dir, CommitsOptions options);
  Status check_process() const;
  void put_pending(uint64_t number, uint64_t after, std::vector<RecordedEvent> events);
  Status compose(const Commit& commit);
  Error bad_rows(const store::TableRows& rows) const;
  template <class Write>
  Result<uint64_t> place(size_t size, std::string_view task, std::unique_lock<std::mutex>& lock,
                         Write&& write);
  Result<uint64_t> append(const std::string& frame);
  void apply_send(uint64_t number, uint64_t seq, const stream::Permit& permit);
  // commits_open.cc
  Result<uint64_t> open_parts();
  Result<uint64_t> check_files(const store::JournalRecovery& found, size_t capacity);
  Status replay();
  Status apply(uint64_t number, bool fresh, std::string_view frame);
  store::StateFile::Changes state_changes(uint64_t number) const;

  Env& below_;
  std::unique_ptr<store::SealedEnv> sealed_;  // with a key
  Env& env_;                                  // the one of both that files go through
  std::string dir_;
  CommitsOptions options_;
  uint64_t process_ = base::fork_generation();
  std::unique_ptr<store::Journal> journal_;
  std::unique_ptr<store::StateFile> state_;  // settled numbers, and those of the outbox's streams
  std::unique_ptr<store::Tables> tables_;
  std::unique_ptr<store::StateMaps> maps_;
  std::unique_ptr<stream::EgressGate> gate_;
  std::unique_ptr<stream::Outbox> outbox_;
  mutable std::mutex lock_;
  std::mutex draining_;  // one event after the other; lock_ and the processor's are taken with it
  std::deque<PendingEvent> pending_;
  std::atomic<EventRecorder*> recorder_{nullptr};
  std::mutex checkpointing_;  // taken first
  std::mutex telling_;        // of on_send_; nothing is taken with it
  std::function<void()> on_send_;
  std::function<int64_t()> clock_;
  std::map<std::string, uint64_t, std::less<>> settled_;
  Retries retries_;
  // Of the commit under way; kept, so that a commit takes no memory of its own.
  std::unique_ptr<FrameOut> frame_;
  CommitsReport report_;
  std::atomic<int64_t> synced_at_{0};
  std::atomic<int64_t> checkpointed_at_{0};
  bool opened_ = false;
};

}  // namespace walle::container
