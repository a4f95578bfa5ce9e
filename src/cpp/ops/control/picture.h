// Pictures in files of bytes: BMP and PNM read here, PNG and JPEG by the system's libpng and libturbojpeg,
// which are looked for when the first such picture comes. Bytes are untrusted: sizes are checked before
// anything is allocated for them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"

namespace walle::ops {

struct Picture {
  int64_t width = 0;
  int64_t height = 0;
  std::vector<uint8_t> rgb;  // three bytes per pixel, rows from the top
};

// A model error for a format that is not known or damaged; a resource error when the library it needs is not
// installed.
Result<Picture> decode_picture(std::span<const uint8_t> bytes);

}  // namespace walle::ops
