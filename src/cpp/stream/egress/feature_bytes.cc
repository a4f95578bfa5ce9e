#include "stream/egress/feature_bytes.h"

#include "base/bytes.h"

namespace walle::stream {

namespace {
constexpr uint8_t kMarked = 0x80;  // beside a column's type: a bit per row says whether it has a value

void put_value(base::ByteWriter& out, const Cell& cell) {
  switch (cell.type) {
    case ColumnType::integer: out.put(cell.i); break;
    case ColumnType::real: out.put(cell.d); break;
    case ColumnType::boolean: out.put(static_cast<uint8_t>(cell.i)); break;
    case ColumnType::text:
    case ColumnType::bytes:
    case ColumnType::vector: out.put_text(cell.text); break;
  }
}

void put_column(base::ByteWriter& out, const Column& column) {
  const tensor::Column& cells = column.cells;
  out.put_text(column.name);
  out.put(static_cast<uint8_t>(static_cast<uint8_t>(cells.type()) | (cells.whole() ? 0 : kMarked)));
  if (!cells.whole()) out.put_bytes(tensor::marks_of(cells));
  for (size_t row = 0; row < cells.size(); ++row)
    if (cells.present(row)) put_value(out, cells[row]);
}

// Borrows from the bytes.
Cell read_value(base::ByteReader& in, ColumnType type) {
  if (type == ColumnType::integer) return Cell::of(in.get<int64_t>());
  if (type == ColumnType::real) return Cell::of(in.get<double>());
  if (type == ColumnType::boolean) {
    const auto flag = in.get<uint8_t>();
    if (flag > 1) in.fail();
    return Cell::of(flag == 1);
  }
  const std::string_view run = in.text();
  if (type == ColumnType::vector && run.size() % sizeof(float) != 0) in.fail();
  return Cell::of_bytes(run, type);
}

bool read_column(base::ByteReader& in, size_t rows, Batch& out) {
  std::string name(in.text());
  const auto told = in.get<uint8_t>();
  const uint8_t type = told & ~kMarked;
  if (!in.ok() || out.find(name) || type > static_cast<uint8_t>(ColumnType::vector)) return false;
  std::string_view marks;
  if (told & kMarked) {
    marks = in.bytes(tensor::mark_bytes(rows));
    if (!in.ok() || !tensor::are_marks(marks, rows)) return false;
  }
  tensor::Column cells(static_cast<ColumnType>(type));
  for (size_t row = 0; row < rows && in.ok(); ++row) {
    const bool there = marks.empty() || tensor::marked(marks, row);
    if (!cells.push_back(there ? read_value(in, static_cast<ColumnType>(type)) : Cell())) return false;
  }
  out.columns.push_back({.name = std::move(name), .cells = std::move(cells)});
  return in.ok();
}
}  // namespace

std::string pack_batch(const Batch& b) {
  base::ByteWriter out;
  out.put_count(b.rows());
  for (const int64_t ts : b.ts) out.put(ts);
  out.put_count(b.columns.size());
  for (const Column& c : b.columns) put_column(out, c);
  return out.take();
}

Result<Batch> unpack_batch(std::string_view bytes) {
  base::ByteReader in(bytes);
  Batch out;
  const auto damaged = [&] {
    return model_error({"damaged rows of a feature, ", bytes.size(), " bytes"}, "what a gate's send returned",
                       "unpack_batch", "ask for the bytes again");
  };
  out.ts.resize(in.count(sizeof(int64_t)));
  for (int64_t& ts : out.ts) ts = in.get<int64_t>();
  // Each takes the size of its name and its type at least.
  const uint32_t columns = in.count(sizeof(uint32_t) + 1);
  for (uint32_t c = 0; c < columns; ++c)
    if (!read_column(in, out.rows(), out)) return damaged();
  if (!in.done()) return damaged();
  return out;
}

}  // namespace walle::stream
