// Texts within an answer of the cloud phase: a varint of their bytes, where ByteWriter::put_text has four
// bytes.
#pragma once

#include <string_view>

#include "base/bytes.h"

namespace walle::link {

inline void put_text(base::ByteWriter& out, std::string_view text) {
  out.put_varint(text.size());
  out.put_bytes(text);
}

}  // namespace walle::link
