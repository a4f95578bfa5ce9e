// Graph: a chain of operators at work: takes rows, gives rows, and holds what is open between them.
//
// What a graph gives depends on its rows and their order alone, never on how they were cut into batches. It
// runs one stream, from the first push() to finish(); feed another stream through another graph. Not
// synchronised; may move between threads. After an error rows of the failed batch may have been taken in:
// give the graph up.
#pragma once

#include "stream/graph/graph_spec.h"
#include "stream/graph/stage.h"

namespace walle::stream {

// What a spec names and does not hold; whoever makes a graph of it gives it. Each refuses unless somebody
// says better: a graph that needs nothing needs no resources.
class GraphResources {
 public:
  virtual ~GraphResources() = default;
  // The network that the model `name` is. Called once for each operator that names it.
  virtual Result<std::shared_ptr<Encoder>> encoder(const std::string& name);
  virtual Result<PrivacyAccount> account(const std::string& name, double limit);
  // Where noise is drawn from: the system's entropy.
  virtual std::mt19937_64 random(const NoiseStep& step);
};

class Graph {
 public:
  Graph() = default;  // without operators: rows pass unchanged

  // Verifies first. `resources` need not outlive the call; what they gave must outlive the graph.
  static Result<Graph> make(GraphSpec spec, GraphResources& resources);
  static Result<Graph> make(GraphSpec spec);  // one that names nothing
  // One more operator behind the others.
  Status add(GraphStep step, GraphResources& resources);

  // Rows in their order of arrival, into input 0 or, for the right side of a join that has it, input 1;
  // returns what the last operator gives for them.
  Result<TracedBatch> push(const TracedBatch& rows, size_t input = 0);
  // No more rows: everything open closes, joins are made. Returns the remaining rows.
  Result<TracedBatch> finish() { return stages_.finish(); }
  // A whole stream of input 0, ended.
  Result<TracedBatch> run(const TracedBatch& rows);

  const GraphSpec& spec() const { return spec_; }
  uint64_t late() const {
    return stages_.late();
  }  // rows after their window's lateness: counted, in no result
  uint64_t outside() const {
    return stages_.outside();
  }  // rows of page operators that belonged to no page: counted, in no result
  uint64_t evicted() const { return stages_.evicted(); }  // keys whose state was given up for others'

 private:
  GraphSpec spec_;
  StageChain stages_;
};

// The columns with labels and paths that a graph would make of columns with these labels, without any row:
// asked when a task is built, and given to EgressGate::check_columns. `second`: of its second input. The
// labels that rows of a log have are TracedBatch::labels_of_log().
Result<TracedBatch> columns_made(const GraphSpec& spec, const TracedBatch::LabelsByName& given,
                                 const TracedBatch::LabelsByName& second = {});

}  // namespace walle::stream
