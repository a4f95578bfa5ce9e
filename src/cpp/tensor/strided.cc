#include "tensor/strided.h"

#include <algorithm>

namespace walle::tensor {

Layout Layout::dense(const Shape& shape) {
  Layout out;
  out.shape = shape;
  int64_t step = 1;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    out.stride[axis] = step;
    // Wraps only beside an axis of none, where no stride is ever used.
    step = static_cast<int64_t>(static_cast<uint64_t>(step) * static_cast<uint64_t>(shape[axis]));
  }
  return out;
}

bool Layout::is_dense() const {
  int64_t step = 1;
  for (int axis = rank() - 1; axis >= 0; --axis) {
    if (shape[axis] == 0) return true;
    if (shape[axis] != 1 && stride[axis] != step) return false;
    step *= shape[axis];
  }
  return true;
}

namespace {

Error out_of_bounds(int64_t given, int axis, int64_t size) {
  return argument_error({"index ", given, " of axis ", axis},
                        size == 0 ? Text("no index: the axis is empty")
                                  : Text{"an index from ", -size, " to ", size - 1},
                        "", "check the shape")
      .of_kind(base::ErrorKind::no_such_index);
}

// A bound of a slice, fitted to the axis as Python does it: `low` and `high` are where a bound ends that lies
// beyond the axis.
int64_t fitted(int64_t bound, int64_t size, int64_t low, int64_t high) {
  if (bound < 0) return std::max(bound + size, low);
  return std::min(bound, high);
}

struct Reader {
  const Layout& from;
  Layout out;
  int axis = 0;  // of `from`, the next to be read

  void keep(int64_t size, int64_t step) {
    out.stride[out.shape.rank()] = step;
    out.shape.push_back(size);
  }

  Status integer(int64_t at) {
    const int64_t size = from.shape[axis];
    if (at < -size || at >= size) return out_of_bounds(at, axis, size);
    out.offset += (at < 0 ? at + size : at) * from.stride[axis];
    ++axis;
    return {};
  }

  void slice(const IndexItem& item) {
    const int64_t size = from.shape[axis];
    const bool forward = item.step > 0;
    const int64_t low = forward ? 0 : -1;
    const int64_t high = forward ? size : size - 1;
    const int64_t start = fitted(item.start, size, low, high);
    const int64_t stop = fitted(item.stop, size, low, high);
    int64_t count = 0;
    if (forward && start < stop) count = (stop - start - 1) / item.step + 1;
    if (!forward && stop < start) count = (start - stop - 1) / -item.step + 1;
    if (count > 0) out.offset += start * from.stride[axis];
    // One element or none needs no step, and a step of 2^62 times a stride is no number.
    keep(count, count > 1 ? item.step * from.stride[axis] : from.stride[axis]);
    ++axis;
  }

  void rest(int axes) {
    for (; axes > 0; --axes, ++axis) keep(from.shape[axis], from.stride[axis]);
  }
};

bool reads_axis(const IndexItem& item) {
  return item.kind == IndexItem::Kind::integer || item.kind == IndexItem::Kind::slice;
}

}  // namespace

Result<Layout> index(const Layout& layout, std::span<const IndexItem> items) {
  const auto read = static_cast<int>(std::ranges::count_if(items, reads_axis));
  if (read > layout.rank())
    return argument_error({read, " indices"}, {"at most ", layout.rank()}, "",
                          {"the tensor has the shape ", layout.shape.text()})
        .of_kind(base::ErrorKind::no_such_index);
  int kept = layout.rank();
  for (const IndexItem& item : items) {
    kept += item.kind == IndexItem::Kind::new_axis;
    kept -= item.kind == IndexItem::Kind::integer;
  }
  if (kept > base::kMaxRank)
    return argument_error({"an index that gives ", kept, " axes"}, {"at most ", base::kMaxRank}, "",
                          "use fewer new axes");
  Reader reader{layout, {}, 0};
  reader.out.offset = layout.offset;
  bool open = true;  // no ellipsis so far: the axes that are not named come last
  for (const IndexItem& item : items) {
    switch (item.kind) {
      case IndexItem::Kind::integer: WALLE_TRY(reader.integer(item.start)); break;
      case IndexItem::Kind::slice: reader.slice(item); break;
      case IndexItem::Kind::new_axis: reader.keep(1, 0); break;
      case IndexItem::Kind::ellipsis:
        if (open) reader.rest(layout.rank() - read);
        open = false;
        break;
    }
  }
  if (open) reader.rest(layout.rank() - read);
  return reader.out;
}

Layout transposed(const Layout& layout, std::span<const int> axes) {
  Layout out;
  out.offset = layout.offset;
  for (const int axis : axes) {
    out.stride[out.shape.rank()] = layout.stride[axis];
    out.shape.push_back(layout.shape[axis]);
  }
  return out;
}

Result<Shape> reshaped_shape(const Shape& from, std::span<const int64_t> shape) {
  Shape out(shape);
  int open = -1;
  int64_t known = 1;
  for (int axis = 0; axis < out.rank(); ++axis) {
    if (out[axis] == -1 && open < 0)
      open = axis;
    else if (out[axis] < 0)
      return argument_error({"the shape ", out.text()}, "sizes, of which one may be -1", "",
                            "name the sizes");
    else if (__builtin_mul_overflow(known, out[axis], &known))
      known = -1;
  }
  const int64_t elements = from.elements();
  if (open >= 0 && known > 0 && elements % known == 0) out[open] = elements / known;
  const bool fits = open < 0 ? known == elements : known > 0 && elements % known == 0;
  if (fits) return out;
  return argument_error({"the shape ", Shape(shape).text()}, {"one of ", elements, " elements"}, "",
                        {"the tensor has the shape ", from.text()});
}

std::optional<Layout> reshaped(const Layout& layout, const Shape& shape) {
  Layout out = Layout::dense(shape);
  out.offset = layout.offset;
  if (layout.is_dense() || shape.elements() == 0) return out;
  // Runs of axes of both shapes that hold equally many elements; a run of the old ones must be one long axis.
  int from = 0;
  int to = 0;
  while (from < layout.rank() && to < shape.rank()) {
    const int first = from;
    const int start = to;
    int64_t old_size = layout.shape[from++];
    int64_t new_size = shape[to++];
    while (old_size != new_size) {
      if (old_size < new_size)
        old_size *= layout.shape[from++];
      else
        new_size *= shape[to++];
    }
    int64_t step = 0;
    int64_t count = 1;
    for (int axis = from - 1; axis >= first; --axis) {
      if (layout.shape[axis] == 1) continue;
      if (count == 1) step = layout.stride[axis];
      if (layout.stride[axis] != step * count) return std::nullopt;
      count *= layout.shape[axis];
    }
    for (int axis = to - 1; axis >= start; --axis) {
      out.stride[axis] = step;
      step *= shape[axis];
    }
  }
  return out;
}

Layout broadcast_to(const Layout& layout, const Shape& shape) {
  Layout out;
  out.shape = shape;
  out.offset = layout.offset;
  const int missing = shape.rank() - layout.rank();
  for (int axis = missing; axis < shape.rank(); ++axis)
    out.stride[axis] = layout.shape[axis - missing] == 1 ? 0 : layout.stride[axis - missing];
  return out;
}

}  // namespace walle::tensor
