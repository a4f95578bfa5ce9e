#include "runtime/search_options.h"

#include "runtime/backend_list.h"
#include "search/machine_costs.h"

namespace walle::runtime {

Result<search::SearchOptions> search_options(SharedState& shared) {
  const SessionOptions& options = shared.options;
  // The profile of a machine without a table lies beside the plans, or where those of tuned sessions would.
  if (!shared.costs) {
    WALLE_ASSIGN(shared.costs, search::machine_costs(host_backend(), shared.backends, base::Env::system(),
                                                     search::cache_folder(options.plan_cache)));
  }
  WALLE_ASSIGN(const double error, error_limit(options.accuracy));
  WALLE_ASSIGN(const backends::Arithmetic arithmetic, allowed_arithmetic(options.precision));
  return search::SearchOptions{.threads = options.threads,
                               .costs = shared.costs.get(),
                               .tune = options.tune,
                               .search = options.debug.search,
                               .allowed = {.error = error, .arithmetic = arithmetic},
                               .cache = shared.cache.get(),
                               .random_placement = options.debug.placement};
}

}  // namespace walle::runtime
