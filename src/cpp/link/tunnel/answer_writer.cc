// Writes an answer of the cloud phase, as a server does: devices read them (answer_message.cc).
#include "base/bytes.h"
#include "link/tunnel/answer_message.h"
#include "link/tunnel/answer_text.h"
#include "link/tunnel/limits.h"

namespace walle::link {

namespace {
// The type's number and one more: 0 is an absent value.
void put_cell(base::ByteWriter& out, const AnswerCell& cell) {
  const Cell value = cell.value.cell();
  put_text(out, cell.column);
  out.put(static_cast<uint8_t>(value.present ? 1 + static_cast<int>(value.type) : 0));
  if (!value.present) return;
  if (tensor::has_bytes(value.type))
    put_text(out, value.text);
  else if (value.type == ColumnType::real)
    out.put(value.d);
  else
    out.put(value.i);
}
}  // namespace

Result<std::string> pack_answer(const Answer& answer) {
  base::ByteWriter out;
  out.put_bytes(kAnswerMagic);
  out.put(kAnswerVersion);
  put_text(out, answer.stream);
  out.put_varint(answer.seq);
  out.put_varint(answer.number);
  out.put_varint(answer.after);
  put_text(out, answer.task);
  put_text(out, answer.error);
  out.put_varint(answer.rows.size());
  bool fits = answer.rows.size() <= kMostAnswerRows && answer.error.size() <= kMostAnswerError;
  for (const AnswerRow& row : answer.rows) {
    out.put_varint(row.size());
    fits = fits && row.size() <= kMostAnswerColumns;
    for (const AnswerCell& cell : row) put_cell(out, cell);
  }
  out.put_checksum();
  std::string bytes = out.take();
  if (!fits || bytes.size() > kMostAnswerBytes)
    return argument_error({"an answer of ", answer.rows.size(), " rows, ", bytes.size(), " bytes"},
                          "at most 1,024 rows of 256 columns, 262,144 bytes in all",
                          {"task '", answer.task, "'"}, "return fewer or smaller rows");
  return bytes;
}

}  // namespace walle::link
