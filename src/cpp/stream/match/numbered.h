// Numbered: things that have a number of 16 bits for as long as they live; one that was given back is given
// out again. Not synchronised.
#pragma once

#include <cstdint>
#include <vector>

#include "stream/match/tight.h"

namespace walle::stream {

template <class T>
class Numbered {
 public:
  // Of one that is as T() or as whoever had it before left it. Precondition: fewer than 65,535 are taken.
  uint16_t take() {
    if (free_.empty()) {
      tight::grow_to(all_, all_.size() + 1);
      return static_cast<uint16_t>(all_.size() - 1);
    }
    const uint16_t at = free_.back();
    free_.pop_back();
    return at;
  }
  void give_back(uint16_t at) {
    all_[at] = T();
    free_.push_back(at);
  }

  T& operator[](size_t at) { return all_[at]; }
  const T& operator[](size_t at) const { return all_[at]; }
  size_t size() const { return all_.size(); }  // taken or not
  auto begin() const { return all_.begin(); }
  auto end() const { return all_.end(); }
  size_t memory_bytes() const { return tight::bytes(all_) + tight::bytes(free_); }

 private:
  std::vector<T> all_;
  std::vector<uint16_t> free_;
};

}  // namespace walle::stream
