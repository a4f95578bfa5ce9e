#include "runtime/options.h"

#include <cstdlib>
#include <limits>

#include "base/limits.h"
#include "search/plan_cache.h"
#include "search/tune.h"

namespace walle::runtime {

Status check_tune(int tune) {
  if (tune >= 0 && tune <= search::kTuneAll) return {};
  return argument_error({"tune=", tune}, {"0 to ", search::kTuneAll}, "session",
                        "leave tune at its default, or try tune=3");
}

Status check_max_plans(int max_plans) {
  if (max_plans >= 1 && max_plans <= base::kMaxKeptPlans) return {};
  return argument_error({"max_plans=", max_plans}, {"1 to ", base::kMaxKeptPlans}, "session",
                        "leave max_plans at its default");
}

Status check_max_plan_bytes(int64_t max_plan_bytes) {
  if (max_plan_bytes >= 0) return {};
  return argument_error({"max_plan_bytes=", max_plan_bytes}, "0 or more bytes", "session",
                        "leave max_plan_bytes at 0, which is no bound");
}

std::string plan_folder(const SessionOptions& options) {
  const char* variable = std::getenv("WALLE_PLAN_CACHE");
  const bool named = !options.plan_cache.empty() || (variable && *variable);
  return named || options.tune > 0 ? search::cache_folder(options.plan_cache) : "";
}

std::string weights_folder(const SessionOptions& options) {
  const char* variable = std::getenv("WALLE_WEIGHTS_CACHE");
  const std::string named = options.weights_cache.empty() && variable ? variable : options.weights_cache;
  return named == "off" ? "" : named;
}

Result<double> error_limit(const std::string& accuracy) {
  if (accuracy == "strict") return search::kStrictError;
  if (accuracy == "normal") return search::kNormalError;
  if (accuracy == "fast") return std::numeric_limits<double>::infinity();
  return argument_error({"accuracy='", accuracy, "'"}, "'strict', 'normal' or 'fast'", "session",
                        "leave accuracy at its default");
}

Result<backends::Arithmetic> allowed_arithmetic(const std::string& precision) {
  if (precision == "bf16") return backends::Arithmetic::bfloat16;
  if (precision == "fp16") return backends::Arithmetic::float16;
  if (precision == "float32" || precision == "auto") return backends::Arithmetic::own;
  return argument_error({"precision='", precision, "'"}, "'float32', 'auto', 'bf16' or 'fp16'", "session",
                        "leave precision at its default");
}

Result<bool> allows_rounded_values(const SessionOptions& options) {
  WALLE_ASSIGN(const backends::Arithmetic products, allowed_arithmetic(options.precision));
  WALLE_ASSIGN(const double error, error_limit(options.accuracy));
  return products == backends::Arithmetic::bfloat16 && error > search::kStrictError;
}

}  // namespace walle::runtime
