#include "vm/log_quota.h"

#include <string>

namespace walle::vm {

namespace {

// At most `size` bytes, and whole characters.
std::string_view cut(std::string_view line, uint64_t size) {
  if (line.size() <= size) return line;
  while (size > 0 && (static_cast<unsigned char>(line[size]) & 0xC0) == 0x80) --size;
  return line.substr(0, size);
}

}  // namespace

void LogQuota::send(const Log& log, base::LogLevel level, std::string_view line) {
  if (!log) return;
  if (used_ + kBytesPerLine > bytes_) {
    ++dropped_;
    return;
  }
  used_ += kBytesPerLine;
  const std::string_view kept = cut(line, bytes_ - used_);
  if (kept.size() < line.size()) ++dropped_;
  used_ += kept.size();
  log(level, kept);
}

void LogQuota::report(const Log& log) {
  const std::string lines = std::to_string(dropped_) + (dropped_ == 1 ? " line" : " lines");
  dropped_ = 0;
  log(base::LogLevel::warning, lines + " of this call dropped or cut: its log quota of " +
                                   std::to_string(bytes_) + " bytes (Limits.log_bytes) is used up");
}

}  // namespace walle::vm
