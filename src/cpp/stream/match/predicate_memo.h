// PredicateMemo: the predicates of all triggers, each evaluated at most once per event: a value is known when
// its stamp is the current event's key, so nothing is reset between events.
#pragma once

#include <cstdint>
#include <vector>

#include "stream/trigger/predicate.h"

namespace walle::stream {

struct PredicateMemo {
  const Event* event = nullptr;
  const Catalog* catalog = nullptr;
  uint64_t stamp = 0;  // key of the current event
  std::vector<Predicate> predicates;
  std::vector<uint32_t> uses;
  std::vector<uint64_t> known;  // stamp << 1 | value

  bool holds(uint16_t p) {
    // The stamp is a key of 64 bits whose topmost stays clear for centuries, so one is free for the value.
    if (known[p] >> 1 == stamp) return known[p] & 1;
    const bool value = predicates[p].evaluate(*event, *catalog);
    known[p] = stamp << 1 | value;
    return value;
  }
  // The number of this predicate, which has one use more. Precondition: fewer than 65,535 are in use.
  uint16_t intern(const Predicate& p);
  void release(uint16_t p);
  size_t memory_bytes() const;

 private:
  uint16_t find(const Predicate& p, uint32_t hash) const;
  uint16_t take_number();
  void put_in_index(uint16_t at);
  void drop_from_index(uint16_t at);

  std::vector<uint32_t> hashes_;  // of those in use
  std::vector<uint16_t> free_;
  // By hash: a power of two, at most half full. A set without predicates has none, each takes 10 bytes of it.
  std::vector<uint16_t> index_;
};

}  // namespace walle::stream
