// AnswerStore: answers of the cloud phase as rows of the task's table: each once, in the order of their
// numbers, beside the firings' own rows in the redo journal (container/device/commits.h).
//
// That an answer was taken and its rows are one frame. It settles the number of the answer under a name
// that no task has, so an answer that comes again - because device, server or broker were killed between -
// leaves nothing. One that does not fit the table, or whose task has been removed, is settled without rows:
// it would hold up all behind it for ever.
//
// The device is held for the length of a call. One thread, the tunnel's.
#pragma once

#include <functional>

#include "container/device/device.h"
#include "link/tunnel/answer_taker.h"

namespace walle::container {

struct TakenAnswer {
  std::string task, stream;
  uint64_t seq = 0;
  int64_t trace = 0;  // base::record_trace_id()
  std::string error;  // why it has no rows: the cloud phase failed, or they do not fit the table
  std::vector<link::AnswerRow> rows;  // what it brought, in the table or not
  uint64_t stored = 0;                // rows in the table
};

class AnswerStore final : public link::AnswerTaker {
 public:
  using OnAnswer = std::function<void(const TakenAnswer&)>;
  // `on_answer` is called behind each commit, by the tunnel's thread, and not again after a crash between the
  // two.
  AnswerStore(Env& env, const Device& device, OnAnswer on_answer)
      : env_(env), device_(device), on_answer_(std::move(on_answer)) {}

  std::vector<link::AnswerMark> marks() override;
  Result<link::AnswerMark> take(const link::Answer& answer) override;

 private:
  Status add_rows(DeviceCore& core, const link::Answer& answer, Commit& commit) const;

  Env& env_;
  const Device& device_;
  OnAnswer on_answer_;
};

}  // namespace walle::container
