#include "base/text.h"

#include <charconv>
#include <cstdio>

namespace walle::base {

void Text::append_to(std::string& out) const {
  if (size_ & kParts) {
    for (uint64_t i = 0; i < (size_ & ~kParts); ++i) parts_[i].append_to(out);
  } else if (size_ & kNumber) {
    char digits[24];
    if (size_ == kReal) {
      // Not to_chars, which Android's library has since a short while.
      out.append(digits, static_cast<size_t>(std::snprintf(digits, sizeof digits, "%.10g", real_)));
      return;
    }
    const bool negative = size_ == kNegative;
    const auto end = negative ? std::to_chars(digits, digits + sizeof digits, static_cast<int64_t>(number_))
                              : std::to_chars(digits, digits + sizeof digits, number_);
    out.append(digits, end.ptr);
  } else {
    out.append(chars_, size_);
  }
}

std::string Text::str() const {
  std::string out;
  append_to(out);
  return out;
}

}  // namespace walle::base
