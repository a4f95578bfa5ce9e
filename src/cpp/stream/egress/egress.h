// The only way out of the device: a feature leaves when the task's
// policy allows exactly it, and the ledger records it.
//
// Denied by default: no policy, an expired one, an unlisted field, another type or size than the feature's
// schema says, a label above the policy's, too few events behind a row, a spent byte or send budget. Budgets
// count per UTC day over what the ledger holds, so a restart forgets nothing. One thread.
#pragma once

#include <functional>

#include "store/journal.h"
#include "stream/operators/batch.h"

namespace walle::stream {

enum class FeatureType : uint8_t { integer, real, text, vector };
std::string_view feature_type_name(FeatureType type);

struct FeatureField {  // one column of a feature's schema
  std::string name;
  FeatureType type = FeatureType::real;
  uint32_t max_size = 0;  // bytes of a text, floats of a vector; 0: any
  Sensitivity highest = Sensitivity::open;
};

struct EgressPolicy {  // of one feature of a task (schemas/egress.fbs)
  std::string task, feature;
  std::vector<FeatureField> fields;
  int64_t bytes_per_day = 0, sends_per_day = 0;
  int64_t minimum_events = 1;  // that every row must summarise
  std::string consent;         // consent class the user must have given; empty: none needed
  int64_t expires_ts = 0;      // us; 0: never
};

// Whether `signature` by key `key_id` is right for `policy`; whoever holds the keys implements it.
using PolicyVerifier = std::function<Status(std::string_view policy, std::string_view algorithm,
                                            std::string_view key_id, std::string_view signature)>;

std::string pack_policies(const std::string& task,
                          const std::vector<EgressPolicy>& policies);  // what is to be signed
std::string sign_policy(std::string_view policy, std::string_view algorithm, std::string_view key_id,
                        std::string_view signature);

struct LedgerEntry {
  int64_t ts = 0, bytes = 0, rows = 0;
  std::string task, feature;
};

class EgressGate {
 public:
  static Result<std::unique_ptr<EgressGate>> open(Env& env, const std::string& dir);

  // A SignedPolicy: verified, then checked, then every feature in it is allowed; on any error nothing is.
  Status load(std::string_view signed_policy, const PolicyVerifier& verify);
  Status allow(EgressPolicy policy);  // for whoever has checked a policy by other means
  void set_consents(std::vector<std::string> consents) { consents_ = std::move(consents); }
  // Whether a graph with these output columns could ever send: asked when a task is built. The error
  // names the column and its path.
  Status check_columns(const std::string& task, const std::string& feature,
                       const std::vector<Column>& columns) const;
  // Checks `batch`, records it, and returns its bytes to send.
  Result<std::string> send(const std::string& task, const std::string& feature, const Batch& batch);
  std::vector<LedgerEntry> ledger() const { return entries_; }

 private:
  EgressGate(Env& env, std::unique_ptr<store::Journal> journal) : env_(env), journal_(std::move(journal)) {}
  Result<const EgressPolicy*> policy_for(const std::string& task, const std::string& feature) const;
  Status check_cells(const EgressPolicy& policy, const Batch& batch) const;
  Status check_budget(const EgressPolicy& policy, int64_t size, int64_t now) const;
  Status record(const LedgerEntry& entry);

  Env& env_;
  std::unique_ptr<store::Journal> journal_;
  std::vector<EgressPolicy> policies_;
  std::vector<std::string> consents_;
  std::vector<LedgerEntry> entries_;
};

// Rows as tagged, length-prefixed cells: docs/reference/formats/egress.md.
std::string pack_batch(const Batch& batch);

}  // namespace walle::stream
