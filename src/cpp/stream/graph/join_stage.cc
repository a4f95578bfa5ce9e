#include "stream/graph/join_stage.h"

#include <span>

namespace walle::stream {

namespace {
// In halves: one behind the other would copy the first rows once for each piece.
Result<TracedBatch> joined_up(std::span<const TracedBatch> pieces) {
  if (pieces.empty()) return TracedBatch();
  if (pieces.size() == 1) return pieces[0];
  const size_t half = pieces.size() / 2;
  WALLE_ASSIGN(const TracedBatch first, joined_up(pieces.first(half)));
  WALLE_ASSIGN(const TracedBatch second, joined_up(pieces.subspan(half)));
  return first.followed_by(second);
}
}  // namespace

Status WaitingRows::add(const TracedBatch& rows, std::string_view side) {
  // Rows without columns are those of an operator that had nothing to give, not a layout.
  if (rows.rows().columns.empty() && rows.rows().rows() == 0) return {};
  if (rows.rows().rows() > kMaxJoinRows - rows_)
    return resource_error({"more than ", kMaxJoinRows, " rows that wait for a join"},
                          "at most so many on each side", {"as-of join, ", side},
                          "filter or reduce the rows before they are joined");
  // A layout once: empty batches of a stream must not pile up.
  if (rows.rows().rows() == 0 && !pieces_.empty()) return {};
  rows_ += rows.rows().rows();
  pieces_.push_back(rows);
  return {};
}

Result<TracedBatch> WaitingRows::all() const { return joined_up(pieces_); }

Status JoinStage::feed(const TracedBatch& rows, size_t input) {
  if (input != (step_.second_input ? 1u : 0u)) return {};
  // Through all operators even where no row is left: the join needs to know the right side's columns.
  WALLE_ASSIGN(const TracedBatch made, right_.push_layout(rows));
  return right_rows_.add(made, "right");
}

Result<TracedBatch> JoinStage::push(const TracedBatch& rows) {
  WALLE_TRY(left_rows_.add(rows, "left"));
  return TracedBatch();
}

Result<TracedBatch> JoinStage::finish() {
  WALLE_ASSIGN(const TracedBatch rest, right_.finish());
  WALLE_TRY(right_rows_.add(rest, "right"));
  if (left_rows_.none()) return TracedBatch();
  if (right_rows_.none())
    return argument_error("a join whose right side was never given rows", "its columns, if no rows",
                          "as-of join", "push a batch, of no rows perhaps, into the second input");
  WALLE_ASSIGN(const TracedBatch left, left_rows_.all());
  WALLE_ASSIGN(const TracedBatch right, right_rows_.all());
  return TracedBatch::joined(left, right, step_.keys, step_.within_us);
}

}  // namespace walle::stream
