#include "stream/egress/egress.h"

#include <algorithm>
#include <map>

#include "base/names.h"
#include "base/trace.h"
#include "stream/egress/feature_bytes.h"

namespace walle::stream {

using base::NameKind;

namespace {
// Of the group "task", not "argument": the caller did nothing wrong, the task's policy says no, and the task
// manager treats the two differently.
Error denied(Text given, Text expected, Text task, Text feature, Text next) {
  return task_error(given, expected, {"egress of feature '", feature, "' by task '", task, "'"}, next);
}

// Linear, as policy_for(): a device has tens of features and a feature tens of columns, and a send is
// followed by syncs that take a million times as long.
const FeatureField* field_of(const EgressPolicy& p, const std::string& name) {
  for (const FeatureField& f : p.fields)
    if (f.name == name) return &f;
  return nullptr;
}

// A boolean is an integer, too, and both are floats.
bool fits(ColumnType given, ColumnType wanted) {
  if (given == wanted) return true;
  return (given == ColumnType::boolean && wanted == ColumnType::integer) ||
         (tensor::is_number(given) && wanted == ColumnType::real);
}

size_t size_of(const Cell& cell) {
  // Bytes of a text, floats of a vector, as FeatureField::max_size counts. Numbers have no size of their own.
  return cell.type == ColumnType::vector ? cell.floats() : cell.text.size();
}
}  // namespace

// Budgets that permits have set aside; outlives the gate where a permit does.
struct EgressGate::Reserved {
  std::mutex lock;
  std::map<std::string, Spent> by_feature;
};

// What one permit has set aside, until it is spent or let go.
struct EgressGate::Hold {
  std::shared_ptr<Reserved> in;
  std::string key;
  int64_t bytes = 0;

  ~Hold() { release(); }
  void release() {
    const std::lock_guard guard(in->lock);
    if (key.empty()) return;
    const auto at = in->by_feature.find(key);
    at->second.bytes -= bytes;
    if (--at->second.sends == 0) in->by_feature.erase(at);
    key.clear();
  }
};

EgressGate::EgressGate(Env& env, std::unique_ptr<store::SealedEnv> sealed)
    : env_(env), sealed_(std::move(sealed)), reserved_(std::make_shared<Reserved>()) {}

Result<std::unique_ptr<EgressGate>> EgressGate::open(Env& env, const std::string& dir,
                                                     const std::string& key) {
  std::unique_ptr<store::SealedEnv> sealed;
  std::shared_ptr<base::Aead> aead;
  if (!key.empty()) {
    WALLE_ASSIGN(aead, store::open_aead(env, dir, key));
    sealed = std::make_unique<store::SealedEnv>(env, aead);
  }
  WALLE_TRY(env.make_dirs(dir));
  WALLE_ASSIGN(const auto files, env.list_files(dir));
  const bool empty = std::ranges::none_of(files, [](const std::string& f) {
    return f.starts_with("ledger.walj") || f.starts_with("egress.wal");
  });
  WALLE_TRY(store::check_key(env, dir, aead.get(), true, empty));
  auto gate = std::unique_ptr<EgressGate>(new EgressGate(env, std::move(sealed)));
  Env& files_env = gate->sealed_ ? static_cast<Env&>(*gate->sealed_) : env;
  WALLE_ASSIGN(gate->ledger_, EgressLedger::open(files_env, dir, std::move(aead)));
  return gate;
}

Status EgressGate::check_policy(const EgressPolicy& p) {
  WALLE_TRY(base::check_name(NameKind::task, p.task, "egress policy"));
  WALLE_TRY(base::check_name(NameKind::feature, p.feature, "egress policy"));
  for (const FeatureField& field : p.fields)
    WALLE_TRY(base::check_name(NameKind::column, field.name, "egress policy"));
  if (!p.consent.empty()) WALLE_TRY(base::check_name(NameKind::consent, p.consent, "egress policy"));
  // minimum_events of 0 would let rows out that summarise nothing; whoever wants no minimum says 1.
  if (p.bytes_per_day < 0 || p.sends_per_day < 0 || p.minimum_events < 1)
    return argument_error({"policy of task '", p.task, "' for feature '", p.feature, "'"},
                          "budgets of at least 0, at least 1 event", "egress policy", "correct the policy");
  return {};
}

Status EgressGate::allow(EgressPolicy p) {
  WALLE_TRY(check_policy(p));
  const std::lock_guard guard(lock_);
  // One policy per task and feature: the newest counts, so that a task's update takes effect without a
  // restart.
  std::erase_if(policies_, [&](const EgressPolicy& o) { return o.task == p.task && o.feature == p.feature; });
  policies_.push_back(std::move(p));
  return {};
}

void EgressGate::revoke(const std::string& task) {
  const std::lock_guard guard(lock_);
  std::erase_if(policies_, [&](const EgressPolicy& p) { return p.task == task; });
}

void EgressGate::keep_only(const std::string& task, const std::vector<std::string>& features) {
  const std::lock_guard guard(lock_);
  std::erase_if(policies_, [&](const EgressPolicy& p) {
    return p.task == task && std::ranges::find(features, p.feature) == features.end();
  });
}

// A copy: another thread may replace it meanwhile.
Result<EgressPolicy> EgressGate::policy_for(const std::string& task, const std::string& feature) const {
  const std::lock_guard guard(lock_);
  for (const EgressPolicy& p : policies_) {
    if (p.task != task || p.feature != feature) continue;
    // Asked at each use rather than when loaded: a policy may run out while the process lives.
    if (p.expires_ts && now() >= p.expires_ts)
      return denied("a policy that has expired", "a policy in force", task, feature,
                    "fetch the task's current configuration");
    return p;
  }
  return denied("a feature without a policy", "a policy in the task's manifest", task, feature,
                "register the feature with the task");
}

Status EgressGate::check_columns(const std::string& task, const std::string& feature,
                                 const std::vector<Column>& columns) const {
  WALLE_ASSIGN(const EgressPolicy p, policy_for(task, feature));
  return check_columns(p, columns);
}

Status EgressGate::check_columns(const EgressPolicy& p, const std::vector<Column>& columns) const {
  const std::string& task = p.task;
  const std::string& feature = p.feature;
  // Consent before columns: a user who has not agreed should not be told which column was wrong.
  if (!p.consent.empty() && !ledger_->consented(p.consent))
    return denied({"no consent of class '", p.consent, "'"}, "the user's consent", task, feature,
                  "ask the user, or send less");
  for (const Column& c : columns) {
    const FeatureField* field = field_of(p, c.name);
    const std::string path = c.path.empty() ? "" : " (" + c.path + ")";
    if (!field)
      return denied({"column '", c.name, "'", path}, "the fields of the policy", task, feature,
                    "select the listed fields, or have the policy changed");
    // Labels are ordered (open < personal < secret), so a policy names the highest that it lets through.
    if (c.sensitivity > field->highest)
      return denied({"column '", c.name, "'", path, " labelled ", sensitivity_name(c.sensitivity)},
                    {"at most ", sensitivity_name(field->highest)}, task, feature,
                    "add noise, or leave it out");
  }
  return {};
}

Status EgressGate::check_cells(const EgressPolicy& p, const Batch& batch) const {
  for (const Column& c : batch.columns) {
    const FeatureField* field = field_of(p, c.name);
    // What is absent every type allows.
    if (c.cells.absent() < c.cells.size() && !fits(c.cells.type(), field->type))
      return denied({"a ", column_type_name(c.cells.type()), " in column '", c.name, "'"},
                    {"a ", column_type_name(field->type)}, p.task, p.feature,
                    "send what the feature's schema says");
    if (field->max_size == 0) continue;
    for (size_t row = 0; row < c.cells.size(); ++row)
      if (const size_t size = size_of(c.cells[row]); size > field->max_size)
        return denied({"a value of size ", size, " in column '", c.name, "'"}, {"at most ", field->max_size},
                      p.task, p.feature, "send what the feature's schema says");
  }
  return {};
}

Result<Permit> EgressGate::permit(const std::string& task, const std::string& feature,
                                  const TracedBatch& traced) {
  const Batch& batch = traced.rows();
  const base::TraceSpan span("egress", static_cast<int64_t>(batch.rows()));
  WALLE_ASSIGN(const EgressPolicy p, policy_for(task, feature));
  WALLE_TRY(check_columns(p, batch.columns));
  if (traced.origin() != TracedBatch::Origin::graph)
    return denied("rows that no graph made, or that were changed behind it", "what a graph gave", task,
                  feature, "let an operator of a graph make what is sent");
  WALLE_TRY(check_cells(p, batch));
  for (size_t r = 0; r < batch.rows(); ++r)
    if (batch.support_of(r) < p.minimum_events)
      return denied({"a row that summarises ", batch.support_of(r), " events"},
                    {"at least ", p.minimum_events}, task, feature,
                    "wait for more events, or filter such rows");
  // Packed before the budget is asked: what counts is what would leave.
  Permit out;
  out.begun_ns = base::trace_clock();
  out.bytes = pack_batch(batch);
  out.stream = feature;
  out.entry = {.ts = now(),
               .bytes = static_cast<int64_t>(out.bytes.size()),
               .rows = static_cast<int64_t>(batch.rows()),
               .task = task,
               .feature = feature};
  WALLE_TRY(ledger_->check(out.entry));
  // Asked and set aside under one lock, or two threads would both have the last send of a day.
  const std::string key = SpentDays::key(task, feature);
  const std::lock_guard guard(reserved_->lock);
  WALLE_TRY(check_budget(p, out.entry));
  auto hold = std::make_shared<Hold>();
  hold->in = reserved_;
  hold->key = key;
  hold->bytes = out.entry.bytes;
  Spent& reserved = reserved_->by_feature[key];
  reserved.bytes += out.entry.bytes;
  ++reserved.sends;
  out.reservation = std::move(hold);
  return out;
}

Status EgressGate::apply(const Permit& permit) {
  WALLE_TRY(ledger_->record(permit.entry));
  settle(permit);
  return {};
}

void EgressGate::redo(uint64_t number, const Permit& permit) {
  // Counted before it is let go: in between it counts twice, and never not at all.
  ledger_->redo(number, permit.entry);
  settle(permit);
}

void EgressGate::settle(const Permit& permit) {
  if (permit.reservation) static_cast<Hold*>(permit.reservation.get())->release();
}

Result<std::string> EgressGate::send(const std::string& task, const std::string& feature,
                                     const TracedBatch& traced) {
  WALLE_ASSIGN(Permit permit, this->permit(task, feature, traced));
  // Recorded first: what may have left is always in the ledger.
  WALLE_TRY(apply(permit));
  return std::move(permit.bytes);
}

// One more send, after what the ledger has counted of this day (UTC) and what is set aside. With the lock of
// that.
Status EgressGate::check_budget(const EgressPolicy& p, const LedgerEntry& entry) const {
  if (ledger_->report().lost)
    return denied("a gate that has lost count of what was sent", "counters that can be believed", p.task,
                  p.feature, "acknowledge the loss (acknowledge_loss), and send tomorrow");
  const int64_t day = day_of(entry.ts);
  if (ledger_->closed(day))
    return denied("a day whose spent budget is not known", "a day behind the loss of the counters", p.task,
                  p.feature, "send tomorrow");
  Spent spent = ledger_->spent(p.task, p.feature, day);
  const auto waiting = reserved_->by_feature.find(SpentDays::key(p.task, p.feature));
  if (waiting != reserved_->by_feature.end()) {
    spent.bytes += waiting->second.bytes;
    spent.sends += waiting->second.sends;
  }
  if (entry.bytes > p.bytes_per_day - spent.bytes)
    return denied({entry.bytes, " bytes after ", spent.bytes, " today"},
                  {"at most ", p.bytes_per_day, " a day"}, p.task, p.feature, "send less, or tomorrow");
  if (spent.sends + 1 > p.sends_per_day)
    return denied({"send number ", spent.sends + 1, " today"}, {"at most ", p.sends_per_day}, p.task,
                  p.feature, "collect more per send");
  return {};
}

}  // namespace walle::stream
