// Columns of tables as what tests compare them with.
#pragma once

#include <string>
#include <vector>

#include "tensor/table.h"

namespace walle {

inline std::vector<std::string> texts_of(const tensor::Column& column) {
  std::vector<std::string> out;
  for (size_t row = 0; row < column.size(); ++row) out.emplace_back(column[row].text);
  return out;
}

}  // namespace walle
