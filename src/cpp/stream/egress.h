// The only way out of the device: a feature leaves when the task's policy allows exactly it, and the ledger records it.
//
// Denied by default: no policy, an unlisted field, a label above the policy's, too few rows behind an aggregate, a spent
// byte or send budget. Budgets count per UTC day over what the ledger holds, so a restart forgets nothing. One thread.
#pragma once

#include "store/journal.h"
#include "stream/batch.h"

namespace walle::stream {

struct EgressPolicy {  // part of a task's signed configuration; whoever loads it has checked the signature
  std::string task, feature;
  std::vector<std::string> fields;
  Sensitivity highest = Sensitivity::open;
  int64_t bytes_per_day = 0, sends_per_day = 0;
  int64_t minimum_rows = 1;  // events that every row must summarise
  std::string consent;       // consent class the user must have given; empty: none needed
};

struct LedgerEntry {
  int64_t ts = 0, bytes = 0, rows = 0;
  std::string task, feature;
};

class EgressGate {
 public:
  static Result<std::unique_ptr<EgressGate>> open(Env& env, const std::string& dir);

  Status allow(EgressPolicy policy);
  void set_consents(std::vector<std::string> consents) { consents_ = std::move(consents); }
  // Whether a graph with these output columns could ever send: asked when a task is built. The path names the column.
  Status check_columns(const std::string& task, const std::string& feature, const std::vector<Column>& columns) const;
  // Checks `batch`, whose rows each summarise at least `rows_behind` events, records it, and returns its bytes to send.
  Result<std::string> send(const std::string& task, const std::string& feature, const Batch& batch, int64_t rows_behind);
  std::vector<LedgerEntry> ledger() const { return entries_; }

 private:
  EgressGate(Env& env, std::unique_ptr<store::Journal> journal) : env_(env), journal_(std::move(journal)) {}
  Result<const EgressPolicy*> policy_for(const std::string& task, const std::string& feature) const;
  Status record(const LedgerEntry& entry);

  Env& env_;
  std::unique_ptr<store::Journal> journal_;
  std::vector<EgressPolicy> policies_;
  std::vector<std::string> consents_;
  std::vector<LedgerEntry> entries_;
};

// Rows as tagged, length-prefixed cells: u32 columns, names, u32 rows, then ts and cells by row.
std::string pack_batch(const Batch& batch);

}  // namespace walle::stream
