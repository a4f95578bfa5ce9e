// NumberSeries: numbers 1, 2, 3 ... of which each is given out once, whatever happens to the records that had
// the newest: rows of a table, records of a stream of the outbox.
//
// The owner stores it now and then, with the records up to the newest, and keeps later ones in a journal of
// its own. What a kill or a damaged journal takes of that, nobody can count; but no more numbers were given
// out than were reserved when the series was stored, so those are passed over and are the most that is lost.
//
// A value without a lock: its owner's.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/bytes.h"
#include "store/journal_frame.h"

namespace walle::store {

struct NumberSeries {
  uint64_t newest = 0;    // given out last; 0: none
  uint64_t reserved = 0;  // numbers up to here may have been given out since it was stored
  uint64_t floor = 0;     // no number up to here is given out any more

  uint64_t next() const { return std::max(newest, floor) + 1; }
  // For what is stored now: at most `count` numbers are given out before it is stored again.
  void reserve(uint64_t count) { reserved = newest + count; }
  // How many of them nobody has seen the end of.
  uint64_t in_doubt() const { return reserved > newest ? reserved - newest : 0; }
  // The records behind the newest are gone.
  void pass_over_reserved() { floor = std::max(floor, reserved); }
  // At most `count` numbers are given out behind those passed over before it is stored otherwise: without
  // these a second loss would pass over what the first did, and no further.
  void reserve_behind(uint64_t count) { reserved = std::max(reserved, next() - 1 + count); }

  void put(base::ByteWriter& out) const {
    for (const uint64_t number : {newest, reserved, floor}) out.put(number);
  }
  static NumberSeries get(base::ByteReader& in) {
    NumberSeries out;
    for (uint64_t* number : {&out.newest, &out.reserved, &out.floor})
      *number = in.checked<uint64_t>(0, kMaxSeq - 1);
    return out;
  }
};

}  // namespace walle::store
