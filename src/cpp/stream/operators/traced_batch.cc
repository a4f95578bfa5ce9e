#include "stream/operators/traced_batch.h"

#include <algorithm>

#include "stream/operators/batch_rows.h"

namespace walle::stream {

namespace {
bool same_cells(const Column& a, const Column& b) {
  if (a.name != b.name || a.cells.size() != b.cells.size()) return false;
  for (size_t row = 0; row < a.cells.size(); ++row)
    if (!tensor::identical(a.cells[row], b.cells[row])) return false;
  return true;
}

// Whether rows behind `front`, which has none, are what they were, columns and labels: nearly always, where
// one operator gave both.
bool follow_unchanged(const Batch& front, const Batch& next) {
  if (front.rows() > 0 || next.rows() == 0) return false;
  return std::ranges::equal(front.columns, next.columns, [](const Column& a, const Column& b) {
    const bool typed = a.cells.type() == b.cells.type() || b.cells.absent() < b.cells.size();
    return a.name == b.name && typed && a.sensitivity <= b.sensitivity &&
           (a.path == b.path || !b.path.empty());
  });
}

bool same_rows(const Batch& a, const Batch& b) {
  return a.ts == b.ts && std::ranges::equal(a.columns, b.columns, same_cells);
}
}  // namespace

TracedBatch::TracedBatch() : origin_(Origin::given) {
  // One for all: a graph makes some for each batch, of operators that have nothing to give.
  static const auto nothing = std::make_shared<const Batch>();
  rows_ = nothing;
}

TracedBatch TracedBatch::given(Batch rows) {
  for (Column& c : rows.columns) c.sensitivity = std::max(c.sensitivity, Sensitivity::personal);
  rows.support.clear();
  return TracedBatch(std::move(rows), Origin::given);
}

TracedBatch TracedBatch::supposed(const LabelsByName& labels) {
  Batch rows;
  for (const auto& [name, label] : labels) rows.columns.push_back({.name = name, .sensitivity = label});
  return TracedBatch(std::move(rows), Origin::given);
}

Result<TracedBatch> TracedBatch::push(Operator& op, const TracedBatch& in) {
  bool known = true;
  for (size_t i = 0; i < in.rows().columns.size(); ++i)
    known = known && op.raised_label(in.rows(), i) == in.rows().columns[i].sensitivity;
  Batch raised;
  if (!known) {
    raised = in.rows();
    for (size_t i = 0; i < raised.columns.size(); ++i)
      raised.columns[i].sensitivity = op.raised_label(raised, i);
  }
  const Batch& rows = known ? in.rows() : raised;
  // Rows that somebody supposes are none.
  if (rows.rows() > 0) op.remember_labels(rows);
  WALLE_ASSIGN(Batch made, op.push(rows));
  return TracedBatch(std::move(made), Origin::graph);
}

Result<TracedBatch> TracedBatch::finish(Operator& op) {
  WALLE_ASSIGN(Batch made, op.finish());
  return TracedBatch(std::move(made), Origin::graph);
}

Result<TracedBatch> TracedBatch::joined(const TracedBatch& left, const TracedBatch& right,
                                        const std::vector<std::string>& keys, int64_t within_us) {
  WALLE_ASSIGN(Batch made, as_of_join(left.rows(), right.rows(), keys, within_us));
  return TracedBatch(std::move(made), Origin::graph);
}

Result<TracedBatch> TracedBatch::followed_by(const TracedBatch& behind) const {
  const Batch& next = behind.rows();
  if (rows().columns.empty() && rows().rows() == 0) return behind;
  if (next.columns.empty() && next.rows() == 0) return *this;
  // No copy: a window gives a layout with each batch and its rows at the end.
  if (origin_ >= behind.origin_ && follow_unchanged(rows(), next)) return behind;
  Batch out = rows();
  if (next.columns.size() != out.columns.size())
    return argument_error({next.columns.size(), " columns behind ", out.columns.size()}, "the same columns",
                          "batch", "append what one graph gave");
  if (!out.support.empty() || !next.support.empty()) {
    out.support.resize(out.rows(), 1);
    for (size_t r = 0; r < next.rows(); ++r) out.support.push_back(next.support_of(r));
  }
  for (const Column& from : next.columns) {
    WALLE_ASSIGN(const size_t at, column_of(out, from.name, "batch"));
    Column& to = out.columns[at];
    if (!to.cells.append(from.cells, 0, from.cells.size()))
      return argument_error({"column '", from.name, "' of type ", column_type_name(from.cells.type())},
                            {column_type_name(to.cells.type()), ", as in front"}, "batch",
                            "append what one graph gave");
    to.sensitivity = std::max(to.sensitivity, from.sensitivity);
    if (!from.path.empty()) to.path = from.path;
  }
  out.ts.insert(out.ts.end(), next.ts.begin(), next.ts.end());
  return TracedBatch(std::move(out), std::min(origin_, behind.origin_));
}

TracedBatch TracedBatch::confirmed(const Batch& cells) const {
  if (!same_rows(rows(), cells)) return given(cells);
  Batch out = rows();
  for (size_t c = 0; c < out.columns.size(); ++c)
    out.columns[c].sensitivity = std::max(out.columns[c].sensitivity, cells.columns[c].sensitivity);
  return TracedBatch(std::move(out), origin_);
}

}  // namespace walle::stream
