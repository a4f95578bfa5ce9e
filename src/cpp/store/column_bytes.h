// Column bytes: one column of a segment, before its bytes are compressed: which rows have a value, then the
// values of those that have (docs/reference/formats/segment.md).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "tensor/table.h"

namespace walle::store {

struct ColumnCounts {
  uint32_t rows = 0;
  uint32_t values = 0;  // of rows that have one
};

std::string pack_column(const tensor::Column& column);
// Nothing where the bytes are none that pack_column() writes, or the values take more memory than `room`,
// from which it is taken: a few bytes can name one long word very often. Precondition: a type but vector.
std::optional<tensor::Column> unpack_column(std::string_view bytes, ColumnType type, ColumnCounts counts,
                                            int64_t& room);

}  // namespace walle::store
