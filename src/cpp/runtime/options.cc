#include "runtime/options.h"

#include <charconv>
#include <limits>
#include <string_view>

#include "search/plan.h"

namespace walle::runtime {

Result<std::optional<uint64_t>> placement_seed(const std::string& placement) {
  constexpr std::string_view kRandom = "random:";
  if (placement == "cost") return std::optional<uint64_t>();
  if (placement.starts_with(kRandom)) {
    uint64_t seed = 0;
    const char* end = placement.data() + placement.size();
    const auto [stop, error] = std::from_chars(placement.data() + kRandom.size(), end, seed);
    if (error == std::errc() && stop == end) return std::optional<uint64_t>(seed);
  }
  return argument_error("placement='" + placement + "'", "'cost' or 'random:' and an integer below 2^64",
                        "session", "leave placement at its default");
}

Result<double> error_limit(const std::string& accuracy) {
  if (accuracy == "strict") return search::kStrictError;
  if (accuracy == "normal") return search::kNormalError;
  if (accuracy == "fast") return std::numeric_limits<double>::infinity();
  return argument_error("accuracy='" + accuracy + "'", "'strict', 'normal' or 'fast'", "session",
                        "leave accuracy at its default");
}

}  // namespace walle::runtime
