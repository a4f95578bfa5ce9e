// FiringOrder: the matches that ended at one event, and in which order they fire: that in which their
// triggers were added, whatever the trie's; of several keys by start and key, whatever their rows, which a
// restart gives anew. Limits are asked in this order, too.
//
// Not synchronised.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

#include "stream/match/tight.h"
#include "stream/match/token_lists.h"
#include "stream/trigger/trigger_compile.h"

namespace walle::stream {

struct EndedMatch {
  uint64_t start = 0;
  uint32_t partition = 0;
  uint16_t trigger = 0;
};

class FiringOrder {
 public:
  // The next place in the order of adding. Precondition: !is_full(). Places are given out anew, in the order
  // that triggers have, behind start_over().
  uint16_t take_place();
  // Whether removed triggers have left as many places as `live` ones have.
  bool is_full(size_t live) const;
  void start_over() { places_ = 0; }
  // How many triggers may fire at one event: those that end with it, and those that end with any. `change` is
  // 1 for a trigger that comes, -1 for one that goes.
  void count_ends(const CompiledTrigger& t, int change);

  bool empty() const { return ended_.empty(); }
  // Whether it took more room: for several keys that the event belongs to, of which each may fire. For one
  // there is room for all triggers.
  bool put(const EndedMatch& m) {
    const bool grows = ended_.size() == ended_.capacity();
    ended_.push_back(m);
    return grows;
  }
  // give(match) for each, and none is left. place_of(trigger): its place; key_of(match): of its partition.
  template <class PlaceOf, class KeyOf, class Give>
  void give_all(const PlaceOf& place_of, const KeyOf& key_of, const Give& give);

  size_t memory_bytes() const {
    return tight::bytes(ended_) + tight::bytes(bits_) + tight::bytes(words_) + tight::bytes(at_) +
           tight::bytes(ends_);
  }
  // Beyond memory_bytes(): every trigger at one event, and a vector that doubles.
  size_t more_bytes_at_most(size_t live) const {
    return (std::max(ended_.capacity(), std::bit_ceil(live)) - ended_.capacity()) * sizeof(EndedMatch);
  }

 private:
  static constexpr size_t kFew = 3;  // are sorted faster than bits are set and found

  template <class Visit>
  static void each_bit(uint64_t bits, size_t word, const Visit& visit) {
    for (; bits; bits &= bits - 1) visit(word * 64 + static_cast<size_t>(std::countr_zero(bits)));
  }
  template <class PlaceOf, class Give>
  bool give_by_place(const PlaceOf& place_of, const Give& give);

  std::vector<EndedMatch> ended_;  // at the current event, in the order in which matches ended
  std::vector<uint64_t> bits_;     // a bit for each place: a match of its trigger ended at this event ...
  std::vector<uint64_t> words_;    // ... and for each word of these: some did
  std::vector<uint16_t> at_;       // ... which is ended_[at_[place]]
  std::vector<uint16_t> ends_;     // triggers whose last step is any event, then by event
  uint32_t places_ = 0;
};

// By a bit for each place: sorting took a quarter of the time of events that end many matches. False, and
// nothing given, where a trigger's matches ended in several partitions.
template <class PlaceOf, class Give>
bool FiringOrder::give_by_place(const PlaceOf& place_of, const Give& give) {
  uint64_t several = 0;
  for (size_t i = 0; i < ended_.size(); ++i) {
    const uint16_t place = place_of(ended_[i].trigger);
    const uint64_t bit = uint64_t{1} << place % 64;
    several |= bits_[place / 64] & bit;
    bits_[place / 64] |= bit;
    words_[place / 64 / 64] |= uint64_t{1} << place / 64 % 64;
    at_[place] = static_cast<uint16_t>(i);
  }
  for (size_t at = 0; at < words_.size(); ++at)
    each_bit(std::exchange(words_[at], 0), at, [&](size_t word) {
      const uint64_t bits = std::exchange(bits_[word], 0);
      if (!several) each_bit(bits, word, [&](size_t place) { give(ended_[at_[place]]); });
    });
  return several == 0;
}

template <class PlaceOf, class KeyOf, class Give>
void FiringOrder::give_all(const PlaceOf& place_of, const KeyOf& key_of, const Give& give) {
  const bool many = ended_.size() > kFew && ended_.size() < kNone;
  if (many && give_by_place(place_of, give)) return ended_.clear();
  if (ended_.size() > 1)
    std::sort(ended_.begin(), ended_.end(), [&](const EndedMatch& a, const EndedMatch& b) {
      if (a.trigger != b.trigger) return place_of(a.trigger) < place_of(b.trigger);
      if (a.start != b.start) return a.start < b.start;
      return key_of(a) < key_of(b);
    });
  for (const EndedMatch& m : ended_) give(m);
  ended_.clear();
}

}  // namespace walle::stream
