#include "link/text.h"

#include <charconv>

namespace walle::link {

void Text::append_to(std::string& out) const {
  if (size_ & kParts) {
    for (uint64_t i = 0; i < (size_ & ~kParts); ++i) parts_[i].append_to(out);
  } else if (size_ & kNumber) {
    char digits[24];
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

namespace {
Error made(base::ErrorGroup group, Text given, Text expected, Text where, Text next) {
  return Error(group, {given.str(), expected.str(), where.str(), next.str()});
}
}  // namespace

Error argument_error(Text given, Text expected, Text where, Text next) {
  return made(base::ErrorGroup::argument, given, expected, where, next);
}
Error model_error(Text given, Text expected, Text where, Text next) {
  return made(base::ErrorGroup::model, given, expected, where, next);
}
Error resource_error(Text given, Text expected, Text where, Text next) {
  return made(base::ErrorGroup::resource, given, expected, where, next);
}
Error timeout_error(Text given, Text expected, Text where, Text next) {
  return made(base::ErrorGroup::timeout, given, expected, where, next);
}
Error network_error(Text given, Text expected, Text where, Text next) {
  return made(base::ErrorGroup::network, given, expected, where, next);
}
Error task_error(Text given, Text expected, Text where, Text next) {
  return made(base::ErrorGroup::task, given, expected, where, next);
}
Error cancelled_error(Text given, Text where) { return base::cancelled_error(given.str(), where.str()); }
Error internal_error(Text given, Text where) { return base::internal_error(given.str(), where.str()); }

}  // namespace walle::link
