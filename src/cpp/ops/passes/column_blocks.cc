#include "ops/passes/column_blocks.h"

#include <algorithm>

namespace walle::ops {

namespace {
using Axis = ColumnBlock::Axis;

// Axes of rows in their one form: none of one element, slowest first, merged where both sides step on evenly.
std::vector<Axis> tidy(std::vector<Axis> axes) {
  std::erase_if(axes, [](const Axis& a) { return a.size == 1; });
  std::ranges::sort(axes, std::ranges::greater(), &Axis::rows);
  std::vector<Axis> out;
  for (const Axis& a : axes) {
    if (!out.empty() && out.back().rows == a.size * a.rows && out.back().stride == a.size * a.stride)
      out.back() = {out.back().size * a.size, a.rows, a.stride};
    else
      out.push_back(a);
  }
  return out;
}

// Every row once: the axes count like digits.
bool covers(const std::vector<Axis>& axes, Dim rows) {
  Dim next = 1;
  for (auto a = axes.rbegin(); a != axes.rend(); ++a) {
    if (a->rows != next) return false;
    next *= a->size;
  }
  return next == rows;
}

std::optional<PlacedBlock> block_of(const raster::Region& r, Ref source, Dim rows, Dim width) {
  PlacedBlock out{.column = r.dst.offset, .block = {.source = source, .offset = r.src.offset, .width = 1}};
  std::vector<Axis> axes;
  for (int i = 0; i < r.rank; ++i) {
    if (r.dst.stride[i] == 1 && r.size[i] <= width && out.block.width == 1) {
      out.block.width = r.size[i];
      out.block.stride = r.src.stride[i];
    } else if (r.dst.stride[i] == 1 && r.size[i] % width == 0 && out.block.width == 1) {
      // Whole rows behind one another, simplified to one axis.
      out.block.width = width;
      out.block.stride = r.src.stride[i];
      axes.push_back({r.size[i] / width, 1, r.src.stride[i] * width});
    } else if (r.dst.stride[i] > 0 && r.dst.stride[i] % width == 0) {
      axes.push_back({r.size[i], r.dst.stride[i] / width, r.src.stride[i]});
    } else if (r.size[i] != 1) {
      return std::nullopt;
    }
  }
  out.block.rows = tidy(std::move(axes));
  if (out.column < 0 || out.column + out.block.width > width || !covers(out.block.rows, rows))
    return std::nullopt;
  return out;
}
}  // namespace

bool ColumnBlock::expanded() const {
  return std::ranges::any_of(rows, [](const Axis& a) { return a.stride == 0; });
}

std::optional<std::vector<PlacedBlock>> column_blocks(const ProgramNode& node, Dim rows, Dim width) {
  if (!node.raster || node.raster->fill || node.raster->accumulate || width < 2) return std::nullopt;
  std::vector<PlacedBlock> out;
  for (const raster::Region& r : node.raster->regions) {
    const auto block = block_of(r, node.inputs[r.source], rows, width);
    if (!block) return std::nullopt;
    out.push_back(*block);
  }
  std::ranges::sort(out, {}, &PlacedBlock::column);
  Dim column = 0;
  for (const PlacedBlock& b : out) {
    if (b.column != column) return std::nullopt;
    column += b.block.width;
  }
  return column == width ? std::optional(std::move(out)) : std::nullopt;
}

ColumnBlock whole_value(Ref value, Dim rows, Dim width) {
  return {.source = value, .stride = 1, .width = width, .rows = tidy({{rows, 1, width}})};
}

raster::Raster as_raster(const std::vector<ColumnBlock>& blocks, std::vector<Ref>& sources) {
  Dim width = 0;
  for (const ColumnBlock& b : blocks) width += b.width;
  raster::Raster out;
  Dim column = 0;
  for (const ColumnBlock& b : blocks) {
    auto source = std::ranges::find(sources, b.source);
    if (source == sources.end()) source = sources.insert(source, b.source);
    Shape size, src, dst;
    for (const Axis& a : b.rows) {
      size.push_back(a.size);
      src.push_back(a.stride);
      dst.push_back(a.rows * width);
    }
    size.push_back(b.width);
    src.push_back(b.stride);
    dst.push_back(1);
    out.regions.push_back(
        raster::strided_region(static_cast<int>(source - sources.begin()), size, b.offset, src, column, dst));
    column += b.width;
  }
  return out;
}

}  // namespace walle::ops
