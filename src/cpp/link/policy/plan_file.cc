// Plans as FlatBuffers (schemas/plan.fbs): structure first, then every number and text, then the table that
// deciding reads.
#include <algorithm>
#include <set>

#include "base/names.h"
#include "link/policy/decision_table.h"
#include "link/policy/plan.h"
#include "schemas/plan_generated.h"

namespace walle::link {

using base::NameKind;

namespace {

namespace fb = walle_rt::fb;

constexpr size_t kLeastBytes = 8;  // the root's offset and the identifier
constexpr size_t kDigestBytes = 32;
constexpr uint32_t kMostTables = 200'000;
constexpr uint32_t kMostDepth = 8;

Error bad_plan(Text given, Text expected) {
  return model_error(given, expected, "plan", "keep the plan at hand and fetch the newest once more");
}

Status check_plan_name(NameKind kind, std::string_view name) {
  return base::check_name(kind, name, "plan", base::ErrorGroup::model);
}

Status check_task(std::string_view scenario, std::string_view task) {
  WALLE_TRY(check_plan_name(NameKind::scenario, scenario));
  return check_plan_name(NameKind::task, task);
}

Status check_path(const PlanRelease& r) {
  const std::string expected = base::package_path(r.scenario, r.task, r.version);
  if (r.path == expected) return {};
  return bad_plan({"path ", base::shown_name(r.path), " of release '", r.id, "'"}, {"'", expected, "'"});
}

Status check_ramp(const PlanRamp& ramp, const std::string& id) {
  if (ramp.from <= ramp.to && ramp.to <= kWhole && ramp.control <= kWhole && ramp.report_seconds > 0)
    return {};
  return bad_plan({"the ramp of release '", id, "' from ", ramp.from, " to ", ramp.to,
                   " with a control share of ", ramp.control, " and ", ramp.report_seconds, " s to report"},
                  "from <= to <= 2^32, control <= 2^32, at least 1 s");
}

uint32_t most_of(uint8_t field) {
  constexpr uint32_t kMost[] = {
#define WALLE_HEADER_FIELD(name, most) most,
#include "link/policy/header_field.inc"
#undef WALLE_HEADER_FIELD
  };
  return field < kHeaderFields ? kMost[field] : 0xffffffffu;
}

Status check_condition(const PlanCondition& c, const std::string& id) {
  if (c.field >= kHeaderFields && c.field != kBucketField)
    return bad_plan({"a condition of release '", id, "' on field ", c.field},
                    {"0..", kHeaderFields - 1, " or ", kBucketField});
  for (size_t i = 0; i < c.spans.size(); ++i) {
    const PlanSpan& s = c.spans[i];
    const bool behind = i == 0 || s.low > c.spans[i - 1].high;
    if (s.low > s.high || s.high > most_of(c.field) || !behind)
      return bad_plan({"span ", s.low, "..", s.high, " of release '", id, "'"},
                      "spans in ascending order and apart, within the field's range");
  }
  return {};
}

Status check_segment(const PlanSegment& segment, const std::string& id) {
  if (segment.conditions.size() > kMostConditions)
    return bad_plan({segment.conditions.size(), " conditions in a segment of release '", id, "'"},
                    {"at most ", kMostConditions});
  std::set<std::pair<uint8_t, uint64_t>> seen;
  for (const PlanCondition& c : segment.conditions) {
    WALLE_TRY(check_condition(c, id));
    if (!seen.insert({c.field, c.field == kBucketField ? c.salt : 0}).second)
      return bad_plan({"two conditions on field ", c.field, " in a segment of release '", id, "'"}, "one");
  }
  return {};
}

Status check_release(const PlanRelease& r) {
  WALLE_TRY(check_plan_name(NameKind::release, r.id));
  WALLE_TRY(check_task(r.scenario, r.task));
  WALLE_TRY(check_plan_name(NameKind::version, r.version));
  WALLE_TRY(check_path(r));
  if (r.sha256.size() != kDigestBytes)
    return bad_plan({"a digest of ", r.sha256.size(), " bytes of release '", r.id, "'"}, "32");
  if (r.params.size() > kMostReleaseParamBytes)
    return bad_plan({r.params.size(), " bytes of parameters of release '", r.id, "'"},
                    {"at most ", kMostReleaseParamBytes});
  if (r.ramp) WALLE_TRY(check_ramp(*r.ramp, r.id));
  for (const PlanSegment& s : r.segments) WALLE_TRY(check_segment(s, r.id));
  return {};
}

Status check_taken_back(const TakenBack& t) {
  WALLE_TRY(check_plan_name(NameKind::release, t.release));
  WALLE_TRY(check_task(t.scenario, t.task));
  WALLE_TRY(check_plan_name(NameKind::version, t.version));
  if (t.why <= TakenWhy::rolled_back) return {};
  return bad_plan({"why ", static_cast<int>(t.why), " of release '", t.release, "', which was taken back"},
                  "0..2");
}

// What no release can be asked alone.
Status check_together(const PlanData& plan) {
  std::set<std::string_view> ids;
  std::set<std::pair<std::string_view, std::string_view>> tasks;
  const PlanRelease* before = nullptr;
  bool gray = false;
  size_t segments = 0;
  for (const PlanRelease& r : plan.releases) {
    if (!ids.insert(r.id).second) return bad_plan({"release '", r.id, "' twice"}, "one of each id");
    if (!before || before->task != r.task || before->scenario != r.scenario) {
      if (!tasks.insert({r.scenario, r.task}).second)
        return bad_plan({"releases of task '", r.task, "' in two places"},
                        "those of a task behind each other");
      gray = false;
    }
    if (r.ramp && gray)
      return bad_plan({"a second gray release '", r.id, "' of task '", r.task, "'"}, "at most one at a time");
    gray = gray || r.ramp;
    before = &r;
    segments += std::max<size_t>(r.segments.size(), 1);
  }
  if (segments > kMostSegments) return bad_plan({segments, " segments"}, {"at most ", kMostSegments});
  for (const PlanKill& k : plan.kills) WALLE_TRY(check_task(k.scenario, k.task));
  for (const TakenBack& t : plan.taken_back) WALLE_TRY(check_taken_back(t));
  return {};
}

Status check_plan(const PlanData& plan) {
  if (plan.releases.size() > kMostReleases || plan.kills.size() > kMostKills ||
      plan.taken_back.size() > kMostTakenBack)
    return bad_plan({plan.releases.size(), " releases, ", plan.kills.size(), " kills and ",
                     plan.taken_back.size(), " taken back"},
                    {"at most ", kMostReleases, ", ", kMostKills, " and ", kMostTakenBack});
  for (const PlanRelease& r : plan.releases) WALLE_TRY(check_release(r));
  return check_together(plan);
}

// Offsets may name the same table or vector many times, so that a few bytes would be many copies: everything
// copied is paid for out of the size of the file, which an honest one never spends.
class Reader {
 public:
  explicit Reader(size_t bytes) : left_(bytes) {}
  bool ok() const { return ok_; }

  PlanRelease release(const fb::PlanRelease& in) {
    PlanRelease out{.id = text(in.id()),
                    .scenario = text(in.scenario()),
                    .task = text(in.task()),
                    .version = text(in.version()),
                    .path = text(in.path())};
    out.sha256 = bytes(in.sha256());
    out.params = bytes(in.params());
    out.size = in.size();
    if (in.segments())
      for (const auto* s : *in.segments()) out.segments.push_back(segment(*s));
    if (const fb::PlanRamp* ramp = in.ramp())
      out.ramp = PlanRamp{.from = ramp->from(),
                          .to = ramp->to(),
                          .start_s = ramp->start(),
                          .seconds = ramp->seconds(),
                          .control = ramp->control(),
                          .report_seconds = ramp->report_seconds()};
    return out;
  }

  std::string text(const flatbuffers::String* s) { return s && pay(s->size()) ? s->str() : std::string(); }

 private:
  bool pay(size_t bytes) {
    ok_ = ok_ && bytes <= left_;
    if (ok_) left_ -= bytes;
    return ok_;
  }

  std::string bytes(const flatbuffers::Vector<uint8_t>* v) {
    if (!v || !pay(v->size())) return {};
    return {reinterpret_cast<const char*>(v->data()), v->size()};
  }

  PlanSegment segment(const fb::PlanSegment& in) {
    PlanSegment out;
    if (!pay(kLeastTable) || !in.conditions()) return out;
    for (const auto* c : *in.conditions()) {
      if (!pay(kLeastTable)) return out;
      PlanCondition made{.field = c->field(), .salt = c->salt()};
      if (c->spans() && pay(c->spans()->size() * sizeof(fb::PlanSpan)))
        for (const fb::PlanSpan* span : *c->spans())
          made.spans.push_back({.low = span->low(), .high = span->high()});
      out.conditions.push_back(std::move(made));
    }
    return out;
  }

  static constexpr size_t kLeastTable = 8;  // its offset in the vector, and the one to its layout
  size_t left_;
  bool ok_ = true;
};

Result<PlanData> parse(std::string_view bytes) {
  const std::string size = std::to_string(bytes.size()) + " bytes";
  if (bytes.size() > kMostPlanBytes) return bad_plan({"a plan of ", size}, {"at most ", kMostPlanBytes});
  std::vector<uint64_t> aligned((bytes.size() + 7) / 8);  // what FlatBuffers reads
  std::copy(bytes.begin(), bytes.end(), reinterpret_cast<char*>(aligned.data()));
  const auto* data = reinterpret_cast<const uint8_t*>(aligned.data());
  flatbuffers::Verifier verifier(data, bytes.size(), kMostDepth, kMostTables);
  if (bytes.size() < kLeastBytes || !fb::VerifyPlanBuffer(verifier))
    return bad_plan({"a damaged plan of ", size}, "a FlatBuffer of schemas/plan.fbs");
  const fb::Plan& in = *fb::GetPlan(data);
  if (in.version() != kPlanVersion)
    return bad_plan({"a plan of version ", in.version()}, {"version ", kPlanVersion});
  PlanData out{.epoch = in.epoch()};
  Reader reader(bytes.size());
  if (in.releases())
    for (size_t i = 0; i < in.releases()->size() && reader.ok(); ++i)
      out.releases.push_back(reader.release(*in.releases()->Get(static_cast<uint32_t>(i))));
  if (in.kills())
    for (size_t i = 0; i < in.kills()->size() && reader.ok(); ++i) {
      const fb::PlanKill& k = *in.kills()->Get(static_cast<uint32_t>(i));
      out.kills.push_back({.scenario = reader.text(k.scenario()), .task = reader.text(k.task())});
    }
  if (in.taken_back())
    for (size_t i = 0; i < in.taken_back()->size() && reader.ok(); ++i) {
      const fb::PlanTakenBack& t = *in.taken_back()->Get(static_cast<uint32_t>(i));
      out.taken_back.push_back({.release = reader.text(t.release()),
                                .scenario = reader.text(t.scenario()),
                                .task = reader.text(t.task()),
                                .version = reader.text(t.version()),
                                .why = static_cast<TakenWhy>(t.why())});
    }
  if (!reader.ok()) return bad_plan("a plan whose parts name the same bytes", "each part by itself");
  return out;
}

}  // namespace

Plan::Plan(PlanData data, std::unique_ptr<const DecisionTable> table)
    : data_(std::move(data)), table_(std::move(table)) {}
Plan::~Plan() = default;
Plan::Plan(Plan&&) noexcept = default;
Plan& Plan::operator=(Plan&&) noexcept = default;

bool Plan::killed(std::string_view scenario, std::string_view task) const {
  return std::any_of(data_.kills.begin(), data_.kills.end(),
                     [&](const PlanKill& k) { return k.task == task && k.scenario == scenario; });
}

Result<Plan> Plan::read(std::string_view bytes) {
  WALLE_ASSIGN(PlanData data, parse(bytes));
  WALLE_TRY(check_plan(data));
  WALLE_ASSIGN(DecisionTable table, DecisionTable::build(data));
  return Plan(std::move(data), std::make_unique<const DecisionTable>(std::move(table)));
}

}  // namespace walle::link
