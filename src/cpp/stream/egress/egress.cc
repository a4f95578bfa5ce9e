#include "stream/egress/egress.h"

#include <algorithm>

namespace walle::stream {

namespace {
constexpr int64_t kDay = 86'400'000'000;

template <class T>
void put(std::string& out, T v) {
  out.append(reinterpret_cast<const char*>(&v), sizeof v);
}
void put_text(std::string& out, std::string_view s) { put(out, static_cast<uint32_t>(s.size())), out += s; }

Error denied(std::string given, std::string expected, const std::string& task, const std::string& feature,
             std::string next) {
  return Error(base::ErrorGroup::task,
               {std::move(given), std::move(expected),
                "egress of feature '" + feature + "' by task '" + task + "'", std::move(next)});
}

bool contains(const std::vector<std::string>& v, const std::string& s) {
  return std::find(v.begin(), v.end(), s) != v.end();
}

const FeatureField* field_of(const EgressPolicy& p, const std::string& name) {
  for (const FeatureField& f : p.fields)
    if (f.name == name) return &f;
  return nullptr;
}

size_t size_of(const Cell& cell) {
  if (const auto* s = std::get_if<std::string>(&cell)) return s->size();
  if (const auto* v = std::get_if<Floats>(&cell)) return v->size();
  return 0;
}
}  // namespace

std::string_view feature_type_name(FeatureType type) {
  constexpr std::string_view names[] = {"int", "float", "text", "vector"};
  return names[static_cast<size_t>(type)];
}

std::string pack_batch(const Batch& b) {
  std::string out;
  put(out, static_cast<uint32_t>(b.columns.size()));
  for (const Column& c : b.columns) put_text(out, c.name);
  put(out, static_cast<uint32_t>(b.rows()));
  for (size_t r = 0; r < b.rows(); ++r) {
    put(out, b.ts[r]);
    for (const Column& c : b.columns) {
      const Cell& cell = c.cells[r];
      put(out, static_cast<uint8_t>(cell.index()));
      if (const auto* i = std::get_if<int64_t>(&cell)) put(out, *i);
      if (const auto* d = std::get_if<double>(&cell)) put(out, *d);
      if (const auto* s = std::get_if<std::string>(&cell)) put_text(out, *s);
      if (const auto* v = std::get_if<Floats>(&cell)) {
        put(out, static_cast<uint32_t>(v->size()));
        out.append(reinterpret_cast<const char*>(v->data()), v->size() * sizeof(float));
      }
    }
  }
  return out;
}

Result<std::unique_ptr<EgressGate>> EgressGate::open(Env& env, const std::string& dir) {
  WALLE_TRY(env.make_dirs(dir));
  WALLE_ASSIGN(auto journal, store::Journal::open(env, dir + "/egress.walj", 1 << 20));
  auto gate = std::unique_ptr<EgressGate>(new EgressGate(env, std::move(journal)));
  gate->journal_->read(0, [&](uint64_t, std::span<const std::byte> bytes) {
    std::string_view in(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    LedgerEntry e;
    uint32_t task = 0;
    if (in.size() < 28) return true;
    std::memcpy(&e.ts, in.data(), 8), std::memcpy(&e.bytes, in.data() + 8, 8),
        std::memcpy(&e.rows, in.data() + 16, 8);
    std::memcpy(&task, in.data() + 24, 4);
    if (task > in.size() - 28) return true;
    e.task = in.substr(28, task), e.feature = in.substr(28 + task);
    gate->entries_.push_back(std::move(e));
    return true;
  });
  return gate;
}

Status EgressGate::allow(EgressPolicy p) {
  if (p.task.empty() || p.feature.empty() || p.bytes_per_day < 0 || p.sends_per_day < 0 ||
      p.minimum_events < 1)
    return argument_error("policy of task '" + p.task + "' for feature '" + p.feature + "'",
                          "both names, budgets of at least 0, at least 1 event", "egress policy",
                          "correct the policy");
  std::erase_if(policies_, [&](const EgressPolicy& o) { return o.task == p.task && o.feature == p.feature; });
  policies_.push_back(std::move(p));
  return {};
}

Result<const EgressPolicy*> EgressGate::policy_for(const std::string& task,
                                                   const std::string& feature) const {
  for (const EgressPolicy& p : policies_) {
    if (p.task != task || p.feature != feature) continue;
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
  if (!p->consent.empty() && !contains(consents_, p->consent))
    return denied("no consent of class '" + p->consent + "'", "the user's consent", task, feature,
                  "ask the user, or send less");
  for (const Column& c : columns) {
    const FeatureField* field = field_of(*p, c.name);
    const std::string path = c.path.empty() ? "" : " (" + c.path + ")";
    if (!field)
      return denied("column '" + c.name + "'" + path, "the fields of the policy", task, feature,
                    "select the listed fields, or have the policy changed");
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
      const bool whole = cell.index() == 1 && field->type == FeatureType::real;  // an integer is a float, too
      if (cell.index() == 0 || whole || cell.index() == static_cast<size_t>(field->type) + 1) {
        if (!field->max_size || size_of(cell) <= field->max_size) continue;
        return denied("a value of size " + std::to_string(size_of(cell)) + " in column '" + c.name + "'",
                      "at most " + std::to_string(field->max_size), p.task, p.feature,
                      "send what the feature's schema says");
      }
      return denied("a " + std::string(feature_type_name(static_cast<FeatureType>(cell.index() - 1))) +
                        " in column '" + c.name + "'",
                    "a " + std::string(feature_type_name(field->type)), p.task, p.feature,
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
  std::string bytes = pack_batch(batch);
  const int64_t now = env_.wall_us(), day = now - now % kDay;
  int64_t used = 0, sends = 0;
  for (const LedgerEntry& e : entries_)
    if (e.task == task && e.feature == feature && e.ts >= day) used += e.bytes, ++sends;
  const auto size = static_cast<int64_t>(bytes.size());
  if (used + size > p->bytes_per_day)
    return denied(std::to_string(size) + " bytes after " + std::to_string(used) + " today",
                  "at most " + std::to_string(p->bytes_per_day) + " a day", task, feature,
                  "send less, or tomorrow");
  if (sends + 1 > p->sends_per_day)
    return denied("send number " + std::to_string(sends + 1) + " today",
                  "at most " + std::to_string(p->sends_per_day), task, feature, "collect more per send");
  // Recorded first: what may have left is always in the ledger.
  WALLE_TRY(record({now, size, static_cast<int64_t>(batch.rows()), task, feature}));
  return bytes;
}

Status EgressGate::record(const LedgerEntry& e) {
  std::string out;
  put(out, e.ts), put(out, e.bytes), put(out, e.rows);
  put_text(out, e.task);
  out += e.feature;
  auto seq = journal_->append(std::as_bytes(std::span(out)));
  if (!seq.ok()) {  // full: the oldest quarter, long out of any budget, makes room
    WALLE_TRY(journal_->release(journal_->first_seq() + (journal_->last_seq() - journal_->first_seq()) / 4));
    WALLE_TRY(journal_->append(std::as_bytes(std::span(out))));
  }
  WALLE_TRY(journal_->sync());
  entries_.push_back(e);
  return {};
}

}  // namespace walle::stream
