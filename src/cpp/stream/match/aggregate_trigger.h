// `count(exposure) > 16 within 1h`, `sum(price of buy) > 100`, `distinct(item) >= 5`: asked at each event
// that is aggregated. State lies in words of the partition (Trie::take_cells).
//
// Exact with bounded memory: a count needs the newest N times, because it has reached N exactly if the N-th
// newest lies in the window; distinct values likewise the N values seen last. A sum, a mean, the least and
// the greatest value without a window are a number or two; within one they must remember every event, and
// keep as many as the trigger declares.
#pragma once

#include "stream/match/limit_table.h"
#include "stream/trigger/trigger_compile.h"

namespace walle::stream {

class AggregateTrigger {
 public:
  AggregateTrigger() = default;
  explicit AggregateTrigger(const CompiledTrigger& t);

  size_t cells() const;  // words of a partition
  // Takes the event in. The key of the first event that counts, 0 when the condition does not hold. `limit`:
  // the window as a difference of key times that may not be reached. Only what lies behind `barrier` counts.
  uint64_t feed(uint64_t* cells, const Event& event, const Catalog& catalog, uint64_t key, uint64_t barrier);
  // Numbers of windows that were given up for newer ones while they still counted.
  uint64_t overflowed() const { return overflowed_; }

 private:
  uint64_t feed_count(uint64_t* cells, uint64_t key, uint64_t barrier) const;
  uint64_t feed_distinct(uint64_t* cells, const Value& v, uint64_t key, uint64_t barrier) const;
  uint64_t feed_total(uint64_t* cells, const Value& v, uint64_t key, uint64_t barrier) const;
  uint64_t feed_window(uint64_t* cells, const Value& v, uint64_t key, uint64_t barrier);
  // Numbers taken together: a sum, the least or the greatest, as integers where all are.
  struct Total {
    int64_t whole = 0;
    double real = 0;
    uint64_t count = 0;
  };
  void add(Total& total, uint64_t bits) const;
  bool holds(const Total& total) const;
  bool counts(uint64_t entry, uint64_t key, uint64_t barrier) const;
  bool compares(int64_t i, double d) const;

  TriggerAggregateKind kind_ = TriggerAggregateKind::none;
  PredicateOp op_ = PredicateOp::gt;
  Literal bound_;
  bool whole_ = false;  // sums are of integers
  bool windowed_ = false;
  uint64_t limit_ = 0;  // the window
  uint16_t field_ = 0;
  size_t needed_ = 0;  // the count or number of values that holds
  size_t kept_ = 0;    // entries
  uint64_t overflowed_ = 0;
};

}  // namespace walle::stream
