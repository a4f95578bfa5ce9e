#include "runtime/session_debug.h"

#include <algorithm>
#include <charconv>

namespace walle::runtime {

namespace {

constexpr std::string_view kRandom = "placement=random:";

std::string words() {
  std::string out;
#define WALLE_SESSION_SWITCH(name) out += #name "=off, ";
#include "runtime/session_switch.inc"
  return out + "placement=random:SEED with an integer below 2^64";
}

bool take_seed(std::string_view word, std::optional<uint64_t>& out) {
  if (!word.starts_with(kRandom)) return false;
  uint64_t seed = 0;
  const char* end = word.data() + word.size();
  const auto [stop, error] = std::from_chars(word.data() + kRandom.size(), end, seed);
  if (error != std::errc() || stop != end) return false;
  out = seed;
  return true;
}

bool take(std::string_view word, SessionDebug& out) {
#define WALLE_SESSION_SWITCH(name) \
  if (word == #name "=off") {      \
    out.name = false;              \
    return true;                   \
  }
#include "runtime/session_switch.inc"
  return take_seed(word, out.placement);
}

}  // namespace

Result<SessionDebug> parse_debug(std::string_view text) {
  SessionDebug out;
  if (text.empty()) return out;
  for (size_t begin = 0, end = 0; end < text.size(); begin = end + 1) {
    end = std::min(text.find(',', begin), text.size());
    const std::string_view word = text.substr(begin, end - begin);
    if (!take(word, out))
      return argument_error({"debug='", word, "'"}, words(), "session", "leave debug out");
  }
  return out;
}

}  // namespace walle::runtime
