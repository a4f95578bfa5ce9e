#include "link/policy/plan.h"
#include "schemas/plan_generated.h"

namespace walle::link {

namespace {

namespace fb = walle_rt::fb;

template <class Table>
using Tables = std::vector<flatbuffers::Offset<Table>>;

class Writer {
 public:
  std::string plan(const PlanData& data) {
    Tables<fb::PlanRelease> releases;
    for (const PlanRelease& r : data.releases) releases.push_back(release(r));
    Tables<fb::PlanKill> kills;
    for (const PlanKill& k : data.kills)
      kills.push_back(fb::CreatePlanKillDirect(out_, k.scenario.c_str(), k.task.c_str()));
    Tables<fb::PlanTakenBack> taken_back;
    for (const TakenBack& t : data.taken_back)
      taken_back.push_back(fb::CreatePlanTakenBackDirect(out_, t.release.c_str(), t.scenario.c_str(),
                                                         t.task.c_str(), t.version.c_str(),
                                                         static_cast<uint8_t>(t.why)));
    fb::FinishPlanBuffer(
        out_, fb::CreatePlanDirect(out_, kPlanVersion, data.epoch, &releases, &kills, &taken_back));
    return {reinterpret_cast<const char*>(out_.GetBufferPointer()), out_.GetSize()};
  }

 private:
  flatbuffers::Offset<fb::PlanRelease> release(const PlanRelease& r) {
    Tables<fb::PlanSegment> segments;
    for (const PlanSegment& s : r.segments) segments.push_back(segment(s));
    const std::vector<uint8_t> sha256(r.sha256.begin(), r.sha256.end());
    flatbuffers::Offset<fb::PlanRamp> ramp;
    if (r.ramp)
      ramp = fb::CreatePlanRamp(out_, r.ramp->from, r.ramp->to, r.ramp->start_s, r.ramp->seconds,
                                r.ramp->control, r.ramp->report_seconds);
    const std::vector<uint8_t> params(r.params.begin(), r.params.end());
    return fb::CreatePlanReleaseDirect(out_, r.id.c_str(), r.scenario.c_str(), r.task.c_str(),
                                       r.version.c_str(), r.path.c_str(), &sha256, r.size, &segments, ramp,
                                       params.empty() ? nullptr : &params);
  }

  flatbuffers::Offset<fb::PlanSegment> segment(const PlanSegment& s) {
    Tables<fb::PlanCondition> conditions;
    for (const PlanCondition& c : s.conditions) {
      std::vector<fb::PlanSpan> spans;
      for (const PlanSpan& span : c.spans) spans.emplace_back(span.low, span.high);
      conditions.push_back(fb::CreatePlanConditionDirect(out_, c.field, c.salt, &spans));
    }
    return fb::CreatePlanSegmentDirect(out_, &conditions);
  }

  flatbuffers::FlatBufferBuilder out_;
};

}  // namespace

Result<std::string> write_plan(const PlanData& data) {
  std::string out = Writer().plan(data);
  WALLE_TRY(Plan::read(out).status());
  return out;
}

}  // namespace walle::link
