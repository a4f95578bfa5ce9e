#include "stream/operators/aggregate.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>

#include "base/hash.h"
#include "base/unreached.h"

namespace walle::stream {

namespace {
// HyperLogLog (Flajolet et al., 2007) of 2^10 one-byte
// registers: a relative error of 1.04 / sqrt(1024), 3.3 %.
constexpr size_t kRegisters = 1024;
// With words of 20 bytes about 300 KB per window: past it exact counts would let a stream of ever new words
// (search terms, say) grow without bound.
constexpr size_t kMaxTopWords = 4096;  // rows of further new words are counted together
// 8 KB of counts, and a text of as many numbers in the result.
constexpr int kMaxBins = 1024;  // of a histogram

// The register's bits of a hash are set, so that a run of zeros ends before them.
uint8_t rank_of(uint64_t hash) { return static_cast<uint8_t>(std::countl_zero(hash | (kRegisters - 1)) + 1); }

// The estimate, or linear counting while registers are empty and it says little.
int64_t distinct_of(const std::vector<uint8_t>& registers) {
  if (registers.empty()) return 0;
  double inverse = 0;
  int zeros = 0;
  for (const uint8_t r : registers) {
    inverse += std::ldexp(1.0, -r);
    zeros += r == 0;
  }
  // 0.7213 / (1 + 1.079 / m) is the paper's bias correction for m >= 128 registers; below 2.5 m its estimate
  // is biased, and counting the empty registers is better (section 4 there).
  const double m = kRegisters, raw = 0.7213 / (1 + 1.079 / m) * m * m / inverse;
  return std::llround(raw <= 2.5 * m && zeros ? m * std::log(m / zeros) : raw);
}

// "word:count,..." of the `k` most frequent; `others` are rows of words not told apart.
std::string top_of(const std::map<std::string, int64_t>& counts, size_t k, int64_t others) {
  std::vector<std::pair<int64_t, std::string>> order;
  // Negated counts: one ascending sort gives the most frequent first and equal ones by word, on every machine
  // alike.
  for (const auto& [w, n] : counts) order.emplace_back(-n, w);
  std::sort(order.begin(), order.end());
  std::string out;
  for (size_t i = 0; i < std::min(k, order.size()); ++i)
    out += (i ? "," : "") + order[i].second + ":" + std::to_string(-order[i].first);
  return others ? out + ",*:" + std::to_string(others) : out;
}

double number_or_0(const Cell& c) { return c.number().value_or(0); }

std::string word(const Cell& c) {
  if (c.is(ColumnType::integer) || c.is(ColumnType::boolean)) return std::to_string(c.i);
  if (c.is(ColumnType::text)) return std::string(c.text);
  // A sign, 17 digits, a point and an exponent of up to four characters fit twice.
  char out[40];
  // 17 digits tell all doubles apart; a vector has no word of its own.
  std::snprintf(out, sizeof out, "%.17g", number_or_0(c));
  return out;
}
}  // namespace

Result<AggregateKind> aggregate_kind(std::string_view name) {
  const auto* it = std::ranges::find(kAggregates, name, &AggregateFacts::name);
  if (it != std::end(kAggregates)) return static_cast<AggregateKind>(it - std::begin(kAggregates));
  std::string known;
  for (const AggregateFacts& a : kAggregates) known += (known.empty() ? "" : ", ") + std::string(a.name);
  return argument_error({"aggregate '", name, "'"}, {"one of ", known}, "aggregate", "choose one of these");
}

Status check_aggregate(const AggregateSpec& a) {
  const AggregateParameters parameters = facts_of(a.kind).parameters;
  const bool range = a.high > a.low && std::isfinite(a.high - a.low);
  const bool bins = parameters != AggregateParameters::bins || (a.k <= kMaxBins && range);
  if (bins && (parameters == AggregateParameters::none || a.k >= 1)) return {};
  return argument_error({"aggregate '", a.out, "'"}, {"1 to ", kMaxBins, " bins or entries and low < high"},
                        "aggregate", "correct its parameters");
}

void Accumulator::add(const AggregateSpec& spec, const Cell& cell) {
  if (!cell.present && !spec.column.empty()) return;  // an absent value is not counted
  ++count_;
  switch (spec.kind) {
    case AggregateKind::count: return;
    case AggregateKind::distinct: {
      if (registers_.empty()) registers_.assign(kRegisters, 0);
      const uint64_t h = base::Hasher().text(word(cell)).finish();
      // The low ten bits choose the register, the high ones give the rank: the two must not share bits.
      auto& r = registers_[h % kRegisters];
      r = std::max(r, rank_of(h));
      return;
    }
    case AggregateKind::top_k: {
      const auto it = counts_.find(word(cell));
      if (it != counts_.end())
        ++it->second;
      else if (counts_.size() < kMaxTopWords)
        counts_.emplace(word(cell), 1);
      else
        ++others_;
      return;
    }
    case AggregateKind::histogram: {
      bins_.resize(spec.k);
      const double at = (number_or_0(cell) - spec.low) / (spec.high - spec.low) * spec.k;
      // Outliers count in the outer ones, what is not a number in the first.
      const auto bin = at > 0 ? static_cast<size_t>(std::min(at, spec.k - 1.0)) : 0;
      ++bins_[bin];
      return;
    }
    case AggregateKind::sum:
    case AggregateKind::mean:
    case AggregateKind::min:
    case AggregateKind::max:
    case AggregateKind::var: break;
  }
  // Welford's update (1962): sums of squares would cancel for values such as times since 1970.
  const double x = number_or_0(cell), delta = x - mean_;
  sum_ += x;
  mean_ += delta / static_cast<double>(count_);
  m2_ += delta * (x - mean_);
  min_ = count_ == 1 ? x : std::min(min_, x);
  max_ = count_ == 1 ? x : std::max(max_, x);
}

void Accumulator::merge(const AggregateSpec&, const Accumulator& o) {
  // Minima and maxima of nothing are 0, which must not be merged.
  if (!o.count_) return;
  if (!count_) {
    *this = o;
    return;
  }
  // Variance: Chan, Golub and LeVeque, 1979.
  const auto a = static_cast<double>(count_), b = static_cast<double>(o.count_);
  const double delta = o.mean_ - mean_;
  m2_ += o.m2_ + delta * delta * a * b / (a + b);
  mean_ += delta * b / (a + b);
  sum_ += o.sum_;
  count_ += o.count_;
  min_ = std::min(min_, o.min_);
  max_ = std::max(max_, o.max_);
  for (size_t i = 0; i < o.registers_.size(); ++i) registers_[i] = std::max(registers_[i], o.registers_[i]);
  // In the order of words, so that which ones still find room does not depend on the window's parts.
  for (const auto& [w, n] : o.counts_)
    if (counts_.size() < kMaxTopWords || counts_.contains(w))
      counts_[w] += n;
    else
      others_ += n;
  others_ += o.others_;
  for (size_t i = 0; i < o.bins_.size(); ++i) bins_[i] += o.bins_[i];
}

Scalar Accumulator::result(const AggregateSpec& spec) const {
  // A count or a sum of nothing is 0; a mean or an extreme of nothing is absent.
  const auto of_some = [this](double value) { return count_ ? Scalar(value) : Scalar(); };
  switch (spec.kind) {
    case AggregateKind::count: return count_;
    case AggregateKind::sum: return sum_;
    case AggregateKind::distinct: return distinct_of(registers_);
    case AggregateKind::top_k: return top_of(counts_, spec.k, others_);
    case AggregateKind::histogram: {
      std::string out;
      for (size_t i = 0; i < static_cast<size_t>(spec.k); ++i)
        out += (i ? "," : "") + std::to_string(i < bins_.size() ? bins_[i] : 0);
      return out;
    }
    case AggregateKind::mean: return of_some(mean_);
    case AggregateKind::min: return of_some(min_);
    case AggregateKind::max: return of_some(max_);
    // Of the population (divided by n): defined for a single row, and parts merge without a correction.
    case AggregateKind::var: return of_some(m2_ / static_cast<double>(count_));
  }
  return base::unreached(Scalar());
}

}  // namespace walle::stream
