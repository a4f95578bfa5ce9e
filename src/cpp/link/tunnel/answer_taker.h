// AnswerTaker: the seam to whoever keeps the answers of the cloud phase: on a device its result tables
// (container/link/answer_store.h); a test has one in memory.
//
// Called by the tunnel's thread alone, which waits for nothing but the taker's own disk.
#pragma once

#include <vector>

#include "link/tunnel/answer_message.h"

namespace walle::link {

class AnswerTaker {
 public:
  virtual ~AnswerTaker() = default;
  // Every stream that asks, and up to where its answers were taken: said behind each new connection, so that
  // the server sends what is lacking.
  virtual std::vector<AnswerMark> marks() = 0;
  // Takes it, or knows why not: either way the mark says what was taken durably. An error where it cannot be
  // written down now; it comes again.
  virtual Result<AnswerMark> take(const Answer& answer) = 0;
};

}  // namespace walle::link
