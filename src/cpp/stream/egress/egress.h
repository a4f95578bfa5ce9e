// EgressGate: the only way out of the device: a feature leaves when the task's policy allows exactly it, and
// the ledger records it.
//
// Denied by default: no policy, an expired one, rows that no graph made, an unlisted field, another type or
// size than the feature's schema says, a label above the policy's, too few events behind a row, a spent byte
// or send budget. Labels and events behind a row are the graph's (stream/operators/traced_batch.h), never the
// caller's. Budgets count per UTC day; they and consents outlive the process and damage to any one file
// (stream/egress/egress_ledger.h). Policies do not: who has them from a manifest that is believed allows them
// at every start.
//
// A send is permit(), which checks it and sets its budget aside, and then apply(), which writes it down; or
// whoever owns a redo journal writes permits into it and calls redo() (container/device/commits.h). Permits
// that wait count as spent for every other. Thread-safe.
#pragma once

#include <functional>

#include "store/sealed_env.h"
#include "stream/egress/egress_ledger.h"
#include "stream/egress/permit.h"
#include "stream/operators/traced_batch.h"

namespace walle::stream {

constexpr bool is_feature_type(ColumnType type) {
  return type <= ColumnType::vector && type != ColumnType::bytes;
}

struct FeatureField {  // one column of a feature's schema
  std::string name;
  ColumnType type = ColumnType::real;
  uint32_t max_size = 0;  // bytes of a text, floats of a vector; 0: any
  Sensitivity highest = Sensitivity::open;
};

struct EgressPolicy {  // of one feature of a task
  std::string task, feature;
  std::vector<FeatureField> fields;
  int64_t bytes_per_day = 0, sends_per_day = 0;
  int64_t minimum_events = 1;  // that every row must summarise
  std::string consent;         // consent class the user must have given; empty: none needed
  int64_t expires_ts = 0;      // us; 0: never
};

class EgressGate {
 public:
  // `key`: 32 bytes that seal the ledger and its state; empty: nothing is sealed.
  static Result<std::unique_ptr<EgressGate>> open(Env& env, const std::string& dir,
                                                  const std::string& key = {});

  // Budgets and expiries go by this time instead of the device's clock, where it is not 0: that of a
  // recording. Before anything is asked of the gate.
  void go_by(std::function<int64_t()> clock) { clock_ = std::move(clock); }
  // Replaces the feature's policy. Whether it may be believed is the caller's to know.
  Status allow(EgressPolicy policy);
  // Nothing of this task may leave any more. What it has spent stays known.
  void revoke(const std::string& task);
  // The same of all its features but these.
  void keep_only(const std::string& task, const std::vector<std::string>& features);
  // All that the user has agreed to, durably.
  Status set_consents(const std::vector<std::string>& consents) { return ledger_->set_consents(consents); }
  std::vector<std::string> consents() const { return ledger_->consents(); }
  // Whether a graph with these output columns could ever send: asked when a task is built. The error
  // names the column and its path.
  Status check_columns(const std::string& task, const std::string& feature,
                       const std::vector<Column>& columns) const;
  // Checks `batch` and packs it. Its budget is set aside until the permit is applied or let go.
  Result<Permit> permit(const std::string& task, const std::string& feature, const TracedBatch& batch);
  // Writes the send down; durable when it returns.
  Status apply(const Permit& permit);
  // Both: the bytes to send.
  Result<std::string> send(const std::string& task, const std::string& feature, const TracedBatch& batch);
  std::vector<LedgerEntry> ledger() const { return ledger_->entries(); }
  LedgerReport report() const { return ledger_->report(); }
  Status acknowledge_loss() { return ledger_->acknowledge_loss(env_.wall_us()); }

  // For the owner of a redo journal. Frame `number` holds this send; nothing where the ledger's files have
  // it. What was set aside for it is spent from here on.
  void redo(uint64_t number, const Permit& permit);
  // What the ledger's files lack up to frame `number`, taken while nothing of a later one is redone; and
  // written, durably when it returns.
  LedgerStep begin_checkpoint(uint64_t number) { return ledger_->begin_checkpoint(number); }
  Status checkpoint(LedgerStep step) { return ledger_->checkpoint(std::move(step)); }
  uint64_t applied() const { return ledger_->applied(); }
  // The journal's newest frames are gone: what they spent is not known, and today's budgets count as spent.
  Status close_today() { return ledger_->close_day(env_.wall_us()); }

 private:
  struct Reserved;
  struct Hold;
  EgressGate(Env& env, std::unique_ptr<store::SealedEnv> sealed);
  Result<EgressPolicy> policy_for(const std::string& task, const std::string& feature) const;
  Status check_columns(const EgressPolicy& policy, const std::vector<Column>& columns) const;
  Status check_cells(const EgressPolicy& policy, const Batch& batch) const;
  Status check_budget(const EgressPolicy& policy, const LedgerEntry& entry) const;
  static Status check_policy(const EgressPolicy& policy);
  static void settle(const Permit& permit);
  int64_t now() const {
    const int64_t recorded = clock_ ? clock_() : 0;
    return recorded ? recorded : env_.wall_us();
  }

  Env& env_;
  std::function<int64_t()> clock_;
  std::unique_ptr<store::SealedEnv> sealed_;
  std::unique_ptr<EgressLedger> ledger_;
  std::shared_ptr<Reserved> reserved_;
  mutable std::mutex lock_;
  std::vector<EgressPolicy> policies_;
};

}  // namespace walle::stream
