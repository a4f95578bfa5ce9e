#include "stream/egress/egress.h"

#include <algorithm>

#include "base/bytes.h"

namespace walle::stream {

namespace {
// Of the ledger's journal. A send takes 44 bytes and its two names: about 12,000 of them, weeks of a task
// that sends every few minutes, while a budget only ever looks at the present day.
constexpr size_t kLedgerBytes = 1 << 20;

// Of the group "task", not "argument": the caller did nothing wrong, the task's policy says no, and the task
// manager treats the two differently.
Error denied(std::string given, std::string expected, const std::string& task, const std::string& feature,
             std::string next) {
  return Error(base::ErrorGroup::task, {.given = std::move(given),
                                        .expected = std::move(expected),
                                        .where = "egress of feature '" + feature + "' by task '" + task + "'",
                                        .next = std::move(next)});
}

// Linear, as field_of() and policy_for(): a device has tens of features and a feature tens of columns, and a
// send is followed by a sync that takes a million times as long.
bool contains(const std::vector<std::string>& v, const std::string& s) {
  return std::find(v.begin(), v.end(), s) != v.end();
}

const FeatureField* field_of(const EgressPolicy& p, const std::string& name) {
  for (const FeatureField& f : p.fields)
    if (f.name == name) return &f;
  return nullptr;
}

// nullopt: absent, which every type allows.
std::optional<FeatureType> type_of(const Cell& cell) {
  if (std::holds_alternative<int64_t>(cell)) return FeatureType::integer;
  if (std::holds_alternative<double>(cell)) return FeatureType::real;
  if (std::holds_alternative<std::string>(cell)) return FeatureType::text;
  if (std::holds_alternative<Floats>(cell)) return FeatureType::vector;
  return std::nullopt;
}

// An integer is a float, too.
bool fits(FeatureType given, FeatureType wanted) {
  return given == wanted || (given == FeatureType::integer && wanted == FeatureType::real);
}

size_t size_of(const Cell& cell) {
  // Bytes of a text, floats of a vector, as FeatureField::max_size counts. Numbers have no size of their own.
  if (const auto* s = std::get_if<std::string>(&cell)) return s->size();
  if (const auto* v = std::get_if<Floats>(&cell)) return v->size();
  return 0;
}
}  // namespace

std::string_view feature_type_name(FeatureType type) {
  switch (type) {
    case FeatureType::integer: return "int";
    case FeatureType::real: return "float";
    case FeatureType::text: return "text";
    case FeatureType::vector: return "vector";
  }
  return "unknown";
}

namespace {
// The tag is the place among Cell's alternatives.
void put_cell(base::ByteWriter& out, const Cell& cell) {
  out.put(static_cast<uint8_t>(cell.index()));
  if (const auto* integer = std::get_if<int64_t>(&cell)) out.put(*integer);
  if (const auto* real = std::get_if<double>(&cell)) out.put(*real);
  if (const auto* text = std::get_if<std::string>(&cell)) out.put_text(*text);
  if (const auto* vector = std::get_if<Floats>(&cell)) {
    out.put_count(vector->size());
    for (const float f : *vector) out.put(f);
  }
}

// A record of the ledger's journal; the feature's name takes what the task's leaves.
std::string pack_entry(const LedgerEntry& e) {
  base::ByteWriter out;
  out.put(e.ts);
  out.put(e.bytes);
  out.put(e.rows);
  out.put_text(e.task);
  out.put_bytes(e.feature);
  return out.take();
}

std::optional<LedgerEntry> read_entry(std::span<const std::byte> bytes) {
  base::ByteReader r(bytes);
  LedgerEntry e;
  e.ts = r.get<int64_t>();
  e.bytes = r.get<int64_t>();
  e.rows = r.get<int64_t>();
  e.task = r.text();
  e.feature = r.rest();
  if (!r.ok()) return std::nullopt;
  return e;
}
}  // namespace

std::string pack_batch(const Batch& b) {
  base::ByteWriter out;
  out.put_count(b.columns.size());
  for (const Column& c : b.columns) out.put_text(c.name);
  out.put_count(b.rows());
  for (size_t r = 0; r < b.rows(); ++r) {
    out.put(b.ts[r]);
    for (const Column& c : b.columns) put_cell(out, c.cells[r]);
  }
  return out.take();
}

Result<std::unique_ptr<EgressGate>> EgressGate::open(Env& env, const std::string& dir) {
  WALLE_TRY(env.make_dirs(dir));
  WALLE_ASSIGN(auto journal, store::Journal::open(env, dir + "/egress.walj", kLedgerBytes));
  auto gate = std::unique_ptr<EgressGate>(new EgressGate(env, std::move(journal)));
  // The whole ledger into memory: the journal's size bounds it, and budgets are asked for at every send.
  gate->journal_->read(0, [&](uint64_t, std::span<const std::byte> bytes) {
    // An entry that does not parse comes from a newer version; it must not keep the device from sending, and
    // the journal has checked its bytes.
    if (auto entry = read_entry(bytes)) gate->entries_.push_back(std::move(*entry));
    return true;
  });
  return gate;
}

Status EgressGate::allow(EgressPolicy p) {
  // minimum_events of 0 would let rows out that summarise nothing; whoever wants no minimum says 1.
  if (p.task.empty() || p.feature.empty() || p.bytes_per_day < 0 || p.sends_per_day < 0 ||
      p.minimum_events < 1)
    return argument_error("policy of task '" + p.task + "' for feature '" + p.feature + "'",
                          "both names, budgets of at least 0, at least 1 event", "egress policy",
                          "correct the policy");
  // One policy per task and feature: the newest counts, so that a task's update takes effect without a
  // restart.
  std::erase_if(policies_, [&](const EgressPolicy& o) { return o.task == p.task && o.feature == p.feature; });
  policies_.push_back(std::move(p));
  return {};
}

Result<const EgressPolicy*> EgressGate::policy_for(const std::string& task,
                                                   const std::string& feature) const {
  for (const EgressPolicy& p : policies_) {
    if (p.task != task || p.feature != feature) continue;
    // Asked at each use rather than when loaded: a policy may run out while the process lives.
    if (p.expires_ts && env_.wall_us() >= p.expires_ts)
      return denied("a policy that has expired", "a policy in force", task, feature,
                    "fetch the task's current configuration");
    return &p;
  }
  return denied("a feature without a policy", "a policy in the task's signed configuration", task, feature,
                "register the feature with the task");
}

Status EgressGate::check_columns(const std::string& task, const std::string& feature,
                                 const std::vector<Column>& columns) const {
  WALLE_ASSIGN(const EgressPolicy* p, policy_for(task, feature));
  // Consent before columns: a user who has not agreed should not be told which column was wrong.
  if (!p->consent.empty() && !contains(consents_, p->consent))
    return denied("no consent of class '" + p->consent + "'", "the user's consent", task, feature,
                  "ask the user, or send less");
  for (const Column& c : columns) {
    const FeatureField* field = field_of(*p, c.name);
    const std::string path = c.path.empty() ? "" : " (" + c.path + ")";
    if (!field)
      return denied("column '" + c.name + "'" + path, "the fields of the policy", task, feature,
                    "select the listed fields, or have the policy changed");
    // Labels are ordered (open < personal < secret), so a policy names the highest that it lets through.
    if (c.sensitivity > field->highest)
      return denied(
          "column '" + c.name + "'" + path + " labelled " + std::string(sensitivity_name(c.sensitivity)),
          "at most " + std::string(sensitivity_name(field->highest)), task, feature,
          "add noise, or leave it out");
  }
  return {};
}

Status EgressGate::check_cells(const EgressPolicy& p, const Batch& batch) const {
  for (const Column& c : batch.columns) {
    const FeatureField* field = field_of(p, c.name);
    for (const Cell& cell : c.cells) {
      const auto type = type_of(cell);
      if (type && !fits(*type, field->type))
        return denied("a " + std::string(feature_type_name(*type)) + " in column '" + c.name + "'",
                      "a " + std::string(feature_type_name(field->type)), p.task, p.feature,
                      "send what the feature's schema says");
      if (field->max_size && size_of(cell) > field->max_size)
        return denied("a value of size " + std::to_string(size_of(cell)) + " in column '" + c.name + "'",
                      "at most " + std::to_string(field->max_size), p.task, p.feature,
                      "send what the feature's schema says");
    }
  }
  return {};
}

Result<std::string> EgressGate::send(const std::string& task, const std::string& feature,
                                     const Batch& batch) {
  WALLE_TRY(check_columns(task, feature, batch.columns));
  WALLE_ASSIGN(const EgressPolicy* p, policy_for(task, feature));
  WALLE_TRY(check_cells(*p, batch));
  for (size_t r = 0; r < batch.rows(); ++r)
    if (batch.support_of(r) < p->minimum_events)
      return denied("a row that summarises " + std::to_string(batch.support_of(r)) + " events",
                    "at least " + std::to_string(p->minimum_events), task, feature,
                    "wait for more events, or filter such rows");
  // Packed before the budget is asked: what counts is what would leave.
  std::string bytes = pack_batch(batch);
  const auto size = static_cast<int64_t>(bytes.size());
  const int64_t now = env_.wall_us();
  WALLE_TRY(check_budget(*p, size, now));
  // Recorded first: what may have left is always in the ledger.
  WALLE_TRY(record({.ts = now,
                    .bytes = size,
                    .rows = static_cast<int64_t>(batch.rows()),
                    .task = task,
                    .feature = feature}));
  return bytes;
}

// One more send of `size` bytes, after what the ledger holds of this day (UTC).
Status EgressGate::check_budget(const EgressPolicy& p, int64_t size, int64_t now) const {
  // UTC, not local time: a traveller's clock must not give a second budget. 1970 began at midnight, so a
  // remainder is enough.
  const int64_t day = now - now % kDayUs;
  int64_t used = 0, sends = 0;
  for (const LedgerEntry& e : entries_) {
    if (e.task != p.task || e.feature != p.feature || e.ts < day) continue;
    used += e.bytes;
    ++sends;
  }
  if (used + size > p.bytes_per_day)
    return denied(std::to_string(size) + " bytes after " + std::to_string(used) + " today",
                  "at most " + std::to_string(p.bytes_per_day) + " a day", p.task, p.feature,
                  "send less, or tomorrow");
  if (sends + 1 > p.sends_per_day)
    return denied("send number " + std::to_string(sends + 1) + " today",
                  "at most " + std::to_string(p.sends_per_day), p.task, p.feature, "collect more per send");
  return {};
}

Status EgressGate::record(const LedgerEntry& e) {
  const std::string record = pack_entry(e);
  const auto bytes = std::as_bytes(std::span(record));
  auto seq = journal_->append(bytes);
  if (!seq.ok()) {  // full: the oldest quarter, long out of any budget, makes room
    WALLE_TRY(journal_->release(journal_->first_seq() + (journal_->last_seq() - journal_->first_seq()) / 4));
    WALLE_TRY(journal_->append(bytes));
  }
  WALLE_TRY(journal_->sync());
  entries_.push_back(e);
  return {};
}

}  // namespace walle::stream
