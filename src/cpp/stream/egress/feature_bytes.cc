#include "stream/egress/feature_bytes.h"

#include "base/bytes.h"

namespace walle::stream {

namespace {
// The tag is the place among Cell's alternatives.
enum class Tag : uint8_t { absent, integer, real, text, vector };

void put_cell(base::ByteWriter& out, const Cell& cell) {
  out.put(static_cast<uint8_t>(cell.index()));
  if (const auto* integer = std::get_if<int64_t>(&cell)) out.put(*integer);
  if (const auto* real = std::get_if<double>(&cell)) out.put(*real);
  if (const auto* text = std::get_if<std::string>(&cell)) out.put_text(*text);
  if (const auto* vector = std::get_if<Floats>(&cell)) {
    out.put_count(vector->size());
    for (const float f : *vector) out.put(f);
  }
}

Cell read_cell(base::ByteReader& in) {
  switch (static_cast<Tag>(in.get<uint8_t>())) {
    case Tag::absent: return {};
    case Tag::integer: return in.get<int64_t>();
    case Tag::real: return in.get<double>();
    case Tag::text: return std::string(in.text());
    case Tag::vector: {
      Floats out(in.count(sizeof(float)));
      for (float& f : out) f = in.get<float>();
      return out;
    }
  }
  in.fail();
  return {};
}

bool read_columns(base::ByteReader& in, Batch& out) {
  const uint32_t columns = in.count(sizeof(uint32_t));  // each takes the size of its name at least
  for (uint32_t c = 0; c < columns; ++c) {
    std::string name(in.text());
    if (!in.ok() || out.find(name)) return false;
    out.columns.push_back({.name = std::move(name)});
  }
  return in.ok();
}
}  // namespace

std::string pack_batch(const Batch& b) {
  base::ByteWriter out;
  out.put_count(b.columns.size());
  for (const Column& c : b.columns) out.put_text(c.name);
  out.put_count(b.rows());
  for (size_t r = 0; r < b.rows(); ++r) {
    out.put(b.ts[r]);
    for (const Column& c : b.columns) put_cell(out, c.cells[r]);
  }
  return out.take();
}

Result<Batch> unpack_batch(std::string_view bytes) {
  base::ByteReader in(bytes);
  Batch out;
  const auto damaged = [&] {
    return model_error({"damaged rows of a feature, ", bytes.size(), " bytes"}, "what a gate's send returned",
                       "unpack_batch", "ask for the bytes again");
  };
  if (!read_columns(in, out)) return damaged();
  // A row takes its time, and a tag for every column.
  const uint32_t rows = in.count(sizeof(int64_t) + out.columns.size());
  for (uint32_t r = 0; r < rows && in.ok(); ++r) {
    out.ts.push_back(in.get<int64_t>());
    for (Column& c : out.columns) c.cells.push_back(read_cell(in));
  }
  if (!in.done()) return damaged();
  return out;
}

}  // namespace walle::stream
