#include "link/policy/decision_table.h"

#include <algorithm>

#include "base/hash.h"

namespace walle::link {

namespace {

const PlanCondition* condition_on(const PlanSegment* segment, HeaderField field) {
  if (!segment) return nullptr;
  for (const PlanCondition& c : segment->conditions)
    if (c.field == static_cast<uint8_t>(field)) return &c;
  return nullptr;
}

void set_bits(std::vector<uint64_t>& rows, size_t words, size_t from, size_t to, size_t bit) {
  for (size_t row = from; row < to; ++row) rows[row * words + bit / 64] |= uint64_t{1} << bit % 64;
}

}  // namespace

Result<DecisionTable> DecisionTable::build(const PlanData& plan) {
  DecisionTable out;
  out.segments_.reserve(plan.releases.size());
  uint32_t task = 0;
  for (uint32_t i = 0; i < plan.releases.size(); ++i) {
    const PlanRelease& r = plan.releases[i];
    const bool next =
        i > 0 && (plan.releases[i - 1].task != r.task || plan.releases[i - 1].scenario != r.scenario);
    task += next ? 1 : 0;
    out.add_release(r);
    const bool killed = std::any_of(plan.kills.begin(), plan.kills.end(), [&](const PlanKill& k) {
      return k.task == r.task && k.scenario == r.scenario;
    });
    if (killed) continue;
    const size_t count = std::max<size_t>(r.segments.size(), 1);
    for (size_t s = 0; s < count; ++s) {
      Segment made{.release = i, .task = task, .buckets_begin = static_cast<uint32_t>(out.buckets_.size())};
      const PlanSegment* source = r.segments.empty() ? nullptr : &r.segments[s];
      if (source)
        for (const PlanCondition& c : source->conditions)
          if (c.field == kBucketField) out.buckets_.push_back({.salt = c.salt, .spans = c.spans});
      made.buckets_end = static_cast<uint32_t>(out.buckets_.size());
      out.segments_.push_back(made);
      out.sources_.push_back(source);
    }
  }
  out.words_ = (out.segments_.size() + 63) / 64;
  size_t left = kMostRowWords;
  for (size_t f = 0; f < kHeaderFields; ++f) WALLE_TRY(out.add_field(static_cast<HeaderField>(f), left));
  out.sources_.clear();
  out.add_sums();
  return out;
}

void DecisionTable::add_release(const PlanRelease& r) {
  base::Hasher content;
  content.text(r.scenario).text(r.task).text(r.sha256);
  if (!r.params.empty()) content.text(r.params);
  base::Hasher control;
  control.text("control").text(r.scenario).text(r.task).text(r.id);
  releases_.push_back({.content = content.finish(),
                       .control = control.finish(),
                       .salt = salt_of(r.id),
                       .gray = r.ramp.has_value()});
}

Status DecisionTable::add_field(HeaderField field, size_t& left) {
  Field made{.field = field};
  bool asked = false;
  made.starts.push_back(0);
  for (const PlanSegment* source : sources_) {
    const PlanCondition* c = condition_on(source, field);
    if (!c) continue;
    asked = true;
    for (const PlanSpan& span : c->spans) {
      made.starts.push_back(span.low);
      if (span.high != 0xffffffff) made.starts.push_back(span.high + 1);
    }
  }
  if (!asked) return {};
  std::sort(made.starts.begin(), made.starts.end());
  made.starts.erase(std::unique(made.starts.begin(), made.starts.end()), made.starts.end());
  const size_t intervals = made.starts.size();
  if (intervals * words_ > left)
    return resource_error(
        {"policies of ", segments_.size(), " segments that tell apart ", intervals, " values of one field"},
        {"what fits into ", kMostRowWords * 8, " bytes of bit rows"}, "plan",
        "take releases together, or name fewer values");
  left -= intervals * words_;
  made.rows.assign(intervals * words_, 0);
  const auto interval = [&](uint32_t start) {
    return static_cast<size_t>(std::lower_bound(made.starts.begin(), made.starts.end(), start) -
                               made.starts.begin());
  };
  for (size_t bit = 0; bit < sources_.size(); ++bit) {
    const PlanCondition* c = condition_on(sources_[bit], field);
    if (!c) {
      set_bits(made.rows, words_, 0, intervals, bit);
      continue;
    }
    for (const PlanSpan& span : c->spans)
      set_bits(made.rows, words_, interval(span.low),
               span.high == 0xffffffff ? intervals : interval(span.high + 1), bit);
  }
  fields_.push_back(std::move(made));
  return {};
}

void DecisionTable::add_sums() {
  plain_.assign(words_, 0);
  sums_.assign(words_ * kNibbles * kNibbles, 0);
  for (size_t bit = 0; bit < segments_.size(); ++bit) {
    const Segment& segment = segments_[bit];
    const bool alone = (bit == 0 || segments_[bit - 1].task != segment.task) &&
                       (bit + 1 == segments_.size() || segments_[bit + 1].task != segment.task);
    const Release& of = releases_[segment.release];
    if (!alone || of.gray || segment.buckets_begin != segment.buckets_end) continue;
    plain_[bit / 64] |= uint64_t{1} << bit % 64;
    uint64_t* const sums = sums_.data() + bit / 4 * kNibbles;
    for (size_t value = 0; value < kNibbles; ++value) sums[value] += value >> bit % 4 & 1 ? of.content : 0;
  }
}

}  // namespace walle::link
