// GraphRunner: runs one graph. Walks segments (compiled once per shape and kept) and executor nodes (control
// flow, sequences); bodies have runners of their own.
//
// Not re-entrant: one run at a time, guarded by the session.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "runtime/kept_plans.h"
#include "runtime/runner_times.h"

namespace walle::runtime {

class GraphRunner {
 public:
  GraphRunner(const ir::Graph& graph, SharedState& shared);

  // inputs as graph.inputs. `given` is empty or has a tensor per output, the undefined one for none: results
  // that a plan computes into memory of its own lie there, others wherever they come from.
  Result<std::vector<ir::RuntimeValue>> run(std::vector<ir::RuntimeValue> inputs,
                                            std::span<const Tensor> given = {});

  // Plans as far as shapes decide: up to the first control operator, or the first size that a computed value
  // decides. inputs as for run(); a tensor without a buffer stands for any values of its shape.
  Status prepare(std::vector<ir::RuntimeValue> inputs);

  void drop_plans();
  int64_t plan_count() const;  // its bodies' too

  const ir::Graph& graph() const { return graph_; }
  const std::vector<std::unique_ptr<Segment>>& segments() const { return plans_.all(); }
  const std::map<const ir::Graph*, std::unique_ptr<GraphRunner>>& bodies() const { return bodies_; }
  const RunnerTimes& times() const { return times_; }

 private:
  friend class NodeContext;

  Result<std::vector<ir::RuntimeValue>> run_body(const ir::Graph& body, std::vector<ir::RuntimeValue> inputs);
  void take(std::vector<ir::RuntimeValue> inputs);
  Result<Segment*> segment_at(int begin);
  Result<Segment*> known_segment(int begin);
  Result<bool> fitted(Segment& segment);
  const Segment* another_segment(int begin) const;
  Result<Segment*> new_segment(int begin);
  Result<std::unique_ptr<Segment>> build(int begin);
  Status run_part(int& next, std::span<const Tensor> given);
  Status run_segment(Segment& segment, std::span<const Tensor> given);
  Status run_node(int index);
  void release(int before);
  std::vector<ir::RuntimeValue> results_of_run() const;

  const ir::Graph& graph_;
  SharedState& shared_;
  std::vector<int> last_use_;
  Environment env_;
  std::vector<ir::ValueId> held_;  // values in env_ that are not graph constants
  std::map<const ir::Graph*, std::unique_ptr<GraphRunner>> bodies_;
  std::vector<const Tensor*> inputs_;  // scratch of run_segment
  RunnerTimes times_;
  KeptPlans plans_;
  std::map<int, int> single_;  // by where a segment begins: how often a class had one member, in a row
};

}  // namespace walle::runtime
