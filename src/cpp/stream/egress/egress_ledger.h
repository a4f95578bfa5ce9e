// EgressLedger: what has left the device, how much of each day's budget is spent, and what the user has
// agreed to. Fails closed.
//
// The ledger is a journal of sends, which forgets the oldest when it is full. Budgets are counted apart from
// it, in a state file of two copies (store/state_file.h), so that neither its size nor damage to it gives
// any back. One send is one durable step: counters and entry are written together, then the entry goes into
// the journal, which the next open does where a crash came between.
//
// An owner of a redo journal has its own durable step: it calls redo() with what its frames say, which counts
// in memory at once, and brings the files up to a frame by begin_checkpoint() and checkpoint().
//
// State that was there and is gone closes the gate until somebody acknowledges it, and the budgets of that
// day with it. docs/reference/formats/egress.md. Thread-safe.
#pragma once

#include <deque>
#include <mutex>

#include "base/aead.h"
#include "store/journal.h"
#include "store/state_file.h"
#include "stream/egress/spent_days.h"

namespace walle::stream {

struct LedgerReport {
  bool lost = false;          // counters and consents are gone: the gate is closed
  uint64_t lost_entries = 0;  // sends that the journal no longer knows; their budget stays spent
  bool mended = false;        // one of two copies was damaged or missing at the open
};

// How far a checkpoint goes.
struct LedgerStep {
  uint64_t number = 0;  // frames up to this one
  size_t entries = 0;   // sends of them that the files lack
};

class EgressLedger {
 public:
  // `aead` seals what the journal holds; files that are replaced as a whole are the Env's.
  static Result<std::unique_ptr<EgressLedger>> open(Env& env, const std::string& dir,
                                                    std::shared_ptr<base::Aead> aead = nullptr);

  // What a feature has sent on `day` (days since 1970, UTC) and, as far as the clock has been ahead, later.
  Spent spent(const std::string& task, const std::string& feature, int64_t day) const;
  // Whether what was spent on `day` is not known.
  bool closed(int64_t day) const;
  // Whether it can be written down at all.
  Status check(const LedgerEntry& entry) const;
  Status record(const LedgerEntry& entry);
  std::vector<LedgerEntry> entries() const;

  // Frame `number` of somebody's journal is this send; nothing where the state has it already.
  void redo(uint64_t number, const LedgerEntry& entry);
  // What the files lack up to frame `number`; nothing may be redone of a later one before it is taken.
  LedgerStep begin_checkpoint(uint64_t number);
  // Durable when it returns; after an error the next step has it all. One step at a time.
  Status checkpoint(LedgerStep step);
  uint64_t applied() const;
  // Budgets of days up to that of `now` count as spent.
  Status close_day(int64_t now);

  Status set_consents(const std::vector<std::string>& consents);
  bool consented(const std::string& consent) const;
  std::vector<std::string> consents() const;

  LedgerReport report() const;
  // The gate opens again; budgets of the day of `now` stay spent after a loss of counters.
  Status acknowledge_loss(int64_t now);

 private:
  EgressLedger(Env& env, std::unique_ptr<store::Journal> journal, std::unique_ptr<store::StateFile> state,
               std::shared_ptr<base::Aead> aead)
      : env_(env), journal_(std::move(journal)), state_(std::move(state)), aead_(std::move(aead)) {}
  Status begin();
  Status read_journal();
  Status settle();
  Status settle_batch();
  Status append(std::string_view record);
  Status write_entries(const std::vector<std::string>& records, uint64_t number);
  void count_redone();

  Env& env_;
  std::unique_ptr<store::Journal> journal_;
  std::unique_ptr<store::StateFile> state_;
  std::shared_ptr<base::Aead> aead_;
  std::mutex writing_;  // of the files; taken first
  mutable std::mutex lock_;
  std::deque<std::pair<uint64_t, LedgerEntry>> entries_;  // with their numbers in the journal
  std::deque<LedgerEntry> redone_;                        // not yet in the files
  std::map<std::string, SpentDays> redone_days_;          // what they spent, beside what the state says
  uint64_t applied_ = 0;
};

}  // namespace walle::stream
