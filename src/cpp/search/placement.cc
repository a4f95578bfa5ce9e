#include "search/placement.h"

#include <algorithm>
#include <limits>

namespace walle::search {

Result<std::vector<Choice>> choices_for(const ops::Program& program, const ops::ProgramNode& node,
                                        const std::vector<const backends::Backend*>& backends, int threads) {
  std::vector<Choice> out;
  const backends::NodeView view(program, node);
  for (const backends::Backend* b : backends) {
    if (!b->supports(view)) continue;
    for (backends::Candidate& c : b->candidates(view, threads)) out.push_back({b, std::move(c)});
  }
  if (!out.empty()) return out;
  std::string operands;
  for (int i = 0; i < view.input_count(); ++i)
    if (view.has(i))
      operands +=
          (operands.empty() ? "" : ", ") + std::string(dtype_name(view.dtype(i))) + view.shape(i).text();
  return backend_error(std::string(node.op->name) + "(" + operands + ")",
                       "an operator and dtypes that a selected backend runs",
                       "node '" + node.origin.text() + "'",
                       "cast the inputs to float32 or choose another backend");
}

double transfer_ms(const backends::Backend& from, const backends::Backend& to, double bytes) {
  if (&from == &to) return 0;
  return 0.02 + bytes / 6e6;  // 20 us to start, 6 GB/s: a first estimate until devices are measured
}

std::vector<int> place(const std::vector<std::vector<double>>& costs, const std::vector<double>& bytes,
                       const std::vector<const backends::Backend*>& backends) {
  const size_t n = costs.size();
  const size_t m = backends.size();
  if (n == 0) return {};
  std::vector<std::vector<double>> best(n, std::vector<double>(m, std::numeric_limits<double>::infinity()));
  std::vector<std::vector<int>> from(n, std::vector<int>(m, 0));
  best[0] = costs[0];
  for (size_t i = 1; i < n; ++i) {
    for (size_t b = 0; b < m; ++b) {
      for (size_t p = 0; p < m; ++p) {
        const double total = best[i - 1][p] + transfer_ms(*backends[p], *backends[b], bytes[i]) + costs[i][b];
        if (total < best[i][b]) {
          best[i][b] = total;
          from[i][b] = static_cast<int>(p);
        }
      }
    }
  }
  std::vector<int> chosen(n);
  chosen[n - 1] = static_cast<int>(std::ranges::min_element(best[n - 1]) - best[n - 1].begin());
  for (size_t i = n - 1; i > 0; --i) chosen[i - 1] = from[i][static_cast<size_t>(chosen[i])];
  return chosen;
}

}  // namespace walle::search
