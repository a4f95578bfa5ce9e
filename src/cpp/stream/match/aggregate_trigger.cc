#include "stream/match/aggregate_trigger.h"

#include <algorithm>
#include <bit>

#include "base/unreached.h"
#include "stream/match/event_key.h"
#include "stream/match/trie.h"

namespace walle::stream {

namespace {
// Stays at its end where it would overflow: on which side of any bound it lies is right still.
int64_t added(int64_t a, int64_t b) {
  int64_t out = 0;
  if (!__builtin_add_overflow(a, b, &out)) return out;
  return b > 0 ? INT64_MAX : INT64_MIN;
}

double as_double(const Value& v) { return v.type == ColumnType::integer ? static_cast<double>(v.i) : v.d; }

uint64_t bits_of(const Value& v, bool whole) {
  return whole ? std::bit_cast<uint64_t>(v.i) : std::bit_cast<uint64_t>(as_double(v));
}

uint64_t time_of_key(uint64_t key) { return key >> kKeyShift << kKeyShift; }
}  // namespace

AggregateTrigger::AggregateTrigger(const CompiledTrigger& t)
    : kind_(t.spec.aggregate.kind),
      op_(t.spec.aggregate.op),
      bound_(t.spec.aggregate.bound),
      whole_(t.whole),
      windowed_(t.spec.within_us.has_value()),
      limit_(key_limit(t.spec.within_us.value_or(-1))),
      field_(t.aggregate_field) {
  if (t.spec.aggregate.of_numbers()) {
    kept_ = windowed_ ? t.spec.aggregate.keep : 0;
    return;
  }
  needed_ = static_cast<size_t>(bound_.i) + (op_ == PredicateOp::gt);
  // That there are no more shows in one more.
  kept_ = needed_ + (op_ == PredicateOp::eq);
}

size_t AggregateTrigger::cells() const {
  switch (kind_) {
    case TriggerAggregateKind::none: return 0;
    case TriggerAggregateKind::count: return 1 + kept_;
    case TriggerAggregateKind::distinct: return 2 * kept_;
    case TriggerAggregateKind::sum:
    case TriggerAggregateKind::min:
    case TriggerAggregateKind::max: return windowed_ ? 1 + 2 * kept_ : 2;
    case TriggerAggregateKind::avg: return windowed_ ? 1 + 2 * kept_ : 3;
  }
  return base::unreached(size_t{0});
}

bool AggregateTrigger::counts(uint64_t entry, uint64_t key, uint64_t barrier) const {
  return entry > barrier && time_of_key(key) - time_of_key(entry) < limit_;
}

uint64_t AggregateTrigger::feed(uint64_t* cells, const Event& event, const Catalog& catalog, uint64_t key,
                                uint64_t barrier) {
  if (kind_ == TriggerAggregateKind::count) return feed_count(cells, key, barrier);
  const Value* v = event.field(catalog, field_);
  // An event without the number is none of those that are asked about.
  if (!v) return 0;
  if (kind_ == TriggerAggregateKind::distinct) return feed_distinct(cells, *v, key, barrier);
  return windowed_ ? feed_window(cells, *v, key, barrier) : feed_total(cells, *v, key, barrier);
}

// A ring of the newest keys; the first word says how many there were.
uint64_t AggregateTrigger::feed_count(uint64_t* cells, uint64_t key, uint64_t barrier) const {
  uint64_t* const ring = cells + 1;
  ring[cells[0] % kept_] = key;
  const uint64_t n = ++cells[0];
  const auto newest = [&](size_t nth) { return n < nth ? 0 : ring[(n - nth) % kept_]; };
  if (!counts(newest(needed_), key, barrier)) return 0;
  if (op_ == PredicateOp::eq && counts(newest(needed_ + 1), key, barrier)) return 0;
  return newest(needed_);
}

// Pairs of a value's hash and the key of its newest event, the newest first.
uint64_t AggregateTrigger::feed_distinct(uint64_t* cells, const Value& v, uint64_t key,
                                         uint64_t barrier) const {
  const uint64_t hash = value_hash(v);
  size_t at = 0;
  while (at + 1 < kept_ && cells[2 * at] != hash && cells[2 * at] != 0) ++at;
  std::copy_backward(cells, cells + 2 * at, cells + 2 * at + 2);
  cells[0] = hash;
  cells[1] = key;
  const auto newest = [&](size_t nth) { return cells[2 * nth - 1]; };
  if (!counts(newest(needed_), key, barrier)) return 0;
  if (op_ == PredicateOp::eq && counts(newest(needed_ + 1), key, barrier)) return 0;
  return newest(needed_);
}

void AggregateTrigger::add(Total& t, uint64_t bits) const {
  const int64_t whole = whole_ ? std::bit_cast<int64_t>(bits) : 0;
  const double real = whole_ ? 0 : std::bit_cast<double>(bits);
  const bool least = kind_ == TriggerAggregateKind::min;
  if (least || kind_ == TriggerAggregateKind::max) {
    const bool less = whole_ ? whole < t.whole : real < t.real;
    const bool more = whole_ ? whole > t.whole : real > t.real;
    if (t.count == 0 || (least ? less : more)) {
      t.whole = whole;
      t.real = real;
    }
  } else {
    t.whole = added(t.whole, whole);
    t.real += real;
  }
  ++t.count;
}

bool AggregateTrigger::holds(const Total& t) const {
  const double real = whole_ ? static_cast<double>(t.whole) : t.real;
  if (kind_ != TriggerAggregateKind::avg) return compares(t.whole, real);
  const double mean = real / static_cast<double>(t.count);
  return stream::holds(op_, mean < bound_.d ? -1 : mean == bound_.d ? 0 : 1);
}

// The first key and what came to since then; a barrier behind the first starts anew.
uint64_t AggregateTrigger::feed_total(uint64_t* cells, const Value& v, uint64_t key, uint64_t barrier) const {
  const bool mean = kind_ == TriggerAggregateKind::avg;
  Total total;
  if (cells[0] <= barrier) {
    cells[0] = key;
  } else {
    total.whole = std::bit_cast<int64_t>(cells[1]);
    total.real = std::bit_cast<double>(cells[1]);
    total.count = mean ? cells[2] : 1;
  }
  add(total, bits_of(v, whole_));
  cells[1] = whole_ ? std::bit_cast<uint64_t>(total.whole) : std::bit_cast<uint64_t>(total.real);
  if (mean) cells[2] = total.count;
  return holds(total) ? cells[0] : 0;
}

// A ring of keys and numbers; the first word says how many there were. Taken together anew, from the oldest,
// since taking away what leaves the window would leave a float's rounding behind.
uint64_t AggregateTrigger::feed_window(uint64_t* cells, const Value& v, uint64_t key, uint64_t barrier) {
  uint64_t* const ring = cells + 1;
  uint64_t* const place = ring + 2 * (cells[0] % kept_);
  overflowed_ += place[0] != 0 && counts(place[0], key, barrier);
  place[0] = key;
  place[1] = bits_of(v, whole_);
  const uint64_t n = ++cells[0];
  uint64_t first = 0;
  Total total;
  for (uint64_t i = n < kept_ ? 0 : n - kept_; i < n; ++i) {
    const uint64_t* const entry = ring + 2 * (i % kept_);
    if (!counts(entry[0], key, barrier)) continue;
    if (!first) first = entry[0];
    add(total, entry[1]);
  }
  return holds(total) ? first : 0;
}

// Integers as integers, because a double cannot tell all of them apart.
bool AggregateTrigger::compares(int64_t i, double d) const {
  const bool less = whole_ && bound_.type == ColumnType::integer ? i < bound_.i : d < bound_.d;
  const bool equal = whole_ && bound_.type == ColumnType::integer ? i == bound_.i : d == bound_.d;
  return stream::holds(op_, less ? -1 : equal ? 0 : 1);
}

}  // namespace walle::stream
