// Answer: one of the cloud phase, on the topic w/<device>/down, and what a device says of those it took, on
// w/<device>/got: docs/reference/formats/tunnel.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "tensor/cell.h"

namespace walle::link {

// Rows of one answer, columns of a row; bytes of what is said of a failure.
inline constexpr std::string_view kAnswerMagic = "WTQ";
inline constexpr uint8_t kAnswerVersion = 1;
inline constexpr size_t kMostAnswerRows = 1024;
inline constexpr size_t kMostAnswerColumns = 256;
inline constexpr size_t kMostAnswerError = 2000;
inline constexpr size_t kMostAnswerBytes = size_t{256} << 10;

struct AnswerCell {
  std::string column;
  Scalar value;  // not a vector
};
using AnswerRow = std::vector<AnswerCell>;

struct Answer {
  std::string stream;  // with seq: the record that asked
  uint64_t seq = 0;
  // Of the device's answers in this stream, in the order in which the server took the questions; `after` is
  // the one that comes before it, and a device that lacks that one takes none behind it.
  uint64_t number = 0, after = 0;
  std::string task;
  std::string error;  // of a question that the cloud phase failed at; such an answer has no rows
  std::vector<AnswerRow> rows;
};

// An error of group argument for one that is too large to be taken.
Result<std::string> pack_answer(const Answer& answer);
Result<Answer> read_answer(std::string_view bytes);

// Answers of a stream were taken up to this number.
struct AnswerMark {
  std::string stream;
  uint64_t taken = 0;
};

std::string pack_marks(const std::vector<AnswerMark>& marks);
Result<std::vector<AnswerMark>> read_marks(std::string_view bytes);

}  // namespace walle::link
