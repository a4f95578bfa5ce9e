#include "stream/graph/graph_spec.h"

namespace walle::stream {

// Not defaulted: steps are not complete where a join is declared.
bool operator==(const JoinStep& a, const JoinStep& b) {
  return a.keys == b.keys && a.within_us == b.within_us && a.second_input == b.second_input &&
         a.right == b.right;
}

size_t input_count(const GraphSpec& spec) {
  for (const GraphStep& step : spec.steps)
    if (const auto* join = std::get_if<JoinStep>(&step.what); join && join->second_input) return 2;
  return 1;
}

}  // namespace walle::stream
