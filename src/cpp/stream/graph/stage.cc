#include "stream/graph/stage.h"

namespace walle::stream {

Status StageChain::feed(const TracedBatch& rows, size_t input) {
  for (const auto& stage : stages_) WALLE_TRY(stage->feed(rows, input));
  return {};
}

Result<TracedBatch> StageChain::through(size_t first, const TracedBatch& rows) {
  TracedBatch out = rows;
  for (size_t i = first; i < stages_.size(); ++i) {
    if (out.rows().rows() == 0) return TracedBatch();
    WALLE_ASSIGN(out, stages_[i]->push(out));
  }
  return out;
}

Result<TracedBatch> StageChain::push_layout(const TracedBatch& rows) {
  TracedBatch out = rows;
  if (out.rows().columns.empty()) return out;
  for (const auto& stage : stages_) {
    WALLE_ASSIGN(out, stage->push(out));
  }
  return out;
}

Result<TracedBatch> StageChain::finish() {
  TracedBatch out;
  for (size_t i = 0; i < stages_.size(); ++i) {
    WALLE_ASSIGN(const TracedBatch rest, stages_[i]->finish());
    WALLE_ASSIGN(const TracedBatch made, through(i + 1, rest));
    WALLE_ASSIGN(out, out.followed_by(made));
  }
  return out;
}

uint64_t StageChain::late() const {
  uint64_t sum = 0;
  for (const auto& stage : stages_) sum += stage->late();
  return sum;
}

uint64_t StageChain::outside() const {
  uint64_t sum = 0;
  for (const auto& stage : stages_) sum += stage->outside();
  return sum;
}

uint64_t StageChain::evicted() const {
  uint64_t sum = 0;
  for (const auto& stage : stages_) sum += stage->evicted();
  return sum;
}

}  // namespace walle::stream
