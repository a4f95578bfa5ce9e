// Rows of a feature as the bytes that leave a device, and back: docs/reference/formats/batch.md.
#pragma once

#include "stream/operators/batch.h"

namespace walle::stream {

std::string pack_batch(const Batch& batch);
// What pack_batch() wrote. Labels do not travel: columns are personal, as all that nobody labels.
Result<Batch> unpack_batch(std::string_view bytes);

}  // namespace walle::stream
