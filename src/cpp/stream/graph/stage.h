// GraphStage: what stands at one place of a graph's chain. A stage takes rows and gives rows, as an operator
// does, and may take part of the graph's input by itself.
#pragma once

#include <vector>

#include "stream/operators/traced_batch.h"

namespace walle::stream {

class GraphStage {
 public:
  virtual ~GraphStage() = default;
  virtual Result<TracedBatch> push(const TracedBatch& rows) = 0;
  virtual Result<TracedBatch> finish() = 0;
  // Rows of the graph's input `input`, before they go through the chain.
  virtual Status feed(const TracedBatch& /*rows*/, size_t /*input*/) { return {}; }
  virtual uint64_t late() const { return 0; }
  virtual uint64_t outside() const { return 0; }
  virtual uint64_t evicted() const { return 0; }
};

class OperatorStage final : public GraphStage {
 public:
  explicit OperatorStage(std::unique_ptr<Operator> op) : op_(std::move(op)) {}
  Result<TracedBatch> push(const TracedBatch& rows) override { return TracedBatch::push(*op_, rows); }
  Result<TracedBatch> finish() override { return TracedBatch::finish(*op_); }
  uint64_t late() const override { return op_->late(); }
  uint64_t outside() const override { return op_->outside(); }
  uint64_t evicted() const override { return op_->evicted(); }

 private:
  std::unique_ptr<Operator> op_;
};

// Stages behind each other.
class StageChain {
 public:
  void add(std::unique_ptr<GraphStage> stage) { stages_.push_back(std::move(stage)); }

  Status feed(const TracedBatch& rows, size_t input);
  // Stages behind one that gives no row are not asked: what they would give has no row either.
  Result<TracedBatch> push(const TracedBatch& rows) { return through(0, rows); }
  // As push(), but batches that have become empty go on: they still have columns.
  Result<TracedBatch> push_layout(const TracedBatch& rows);
  Result<TracedBatch> finish();

  uint64_t late() const;
  uint64_t outside() const;
  uint64_t evicted() const;

 private:
  Result<TracedBatch> through(size_t first, const TracedBatch& rows);

  std::vector<std::unique_ptr<GraphStage>> stages_;
};

}  // namespace walle::stream
