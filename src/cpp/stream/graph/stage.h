// What stands at one place of a graph's chain. A stage takes rows and gives rows, as an operator does, and
// may take part of the graph's input by itself.
#pragma once

#include <vector>

#include "stream/graph/graph.h"

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

// Rows that wait, as they came; one batch when somebody asks.
class WaitingRows {
 public:
  // Error: more than kMaxJoinRows wait.
  Status add(const TracedBatch& rows, std::string_view side);
  Result<TracedBatch> all() const;
  bool none() const { return pieces_.empty(); }

 private:
  std::vector<TracedBatch> pieces_;
  size_t rows_ = 0;
};

// Both sides wait for the stream's end, as as_of_join() needs them whole.
class JoinStage final : public GraphStage {
 public:
  JoinStage(JoinStep step, Graph right) : step_(std::move(step)), right_(std::move(right)) {}
  Status feed(const TracedBatch& rows, size_t input) override;
  Result<TracedBatch> push(const TracedBatch& rows) override;
  Result<TracedBatch> finish() override;
  uint64_t late() const override { return right_.late(); }
  uint64_t outside() const override { return right_.outside(); }
  uint64_t evicted() const override { return right_.evicted(); }

 private:
  JoinStep step_;
  Graph right_;
  WaitingRows left_rows_, right_rows_;
};

}  // namespace walle::stream
