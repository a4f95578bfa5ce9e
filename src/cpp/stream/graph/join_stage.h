// JoinStage: a join in a graph: both sides wait for the stream's end, as as_of_join() needs them whole.
#pragma once

#include "stream/graph/graph_spec.h"
#include "stream/graph/stage.h"

namespace walle::stream {

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

class JoinStage final : public GraphStage {
 public:
  // `right`: the stages of step.right.
  JoinStage(JoinStep step, StageChain right) : step_(std::move(step)), right_(std::move(right)) {}
  Status feed(const TracedBatch& rows, size_t input) override;
  Result<TracedBatch> push(const TracedBatch& rows) override;
  Result<TracedBatch> finish() override;
  uint64_t late() const override { return right_.late(); }
  uint64_t outside() const override { return right_.outside(); }
  uint64_t evicted() const override { return right_.evicted(); }

 private:
  JoinStep step_;
  StageChain right_;
  WaitingRows left_rows_, right_rows_;
};

}  // namespace walle::stream
