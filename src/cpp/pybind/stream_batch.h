// Batches of rows as Python holds them: ({"ts": [...], name: [...]}, labels, events behind each row).
#pragma once

#include <map>

#include "pybind/stream.h"
#include "stream/operators/batch.h"

namespace walle::pybind {

using Labels = std::map<std::string, std::pair<int, std::string>>;  // name: (sensitivity, path)

stream::Batch batch_of(const py::dict& columns, const Labels& labels);
// An unlabelled column is personal: what nobody declared harmless does not leave.
stream::Column column_of(const std::string& name, const Labels& labels);
py::tuple columns_of(const stream::Batch& batch);

}  // namespace walle::pybind
