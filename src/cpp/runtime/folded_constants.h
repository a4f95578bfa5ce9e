// FoldedConstants: what plans make of a model's constants while they are compiled - transposed, scaled and
// cut weights - made once for all plans, whatever their shapes.
//
// Without it each plan had weights of its own, and packed them again: an MLP of 1.6 MB grew to 1.7 GB over
// 512 batch sizes. Two ways lead here. Folding a node asks before it computes; and what passes compute
// themselves (a scale folded into weights) is compared by content once the program stands.
//
// Thread-safe. An entry lives as long as some plan, or an entry that lives, holds what it made: the model's
// sessions drop plans, and then call ModelConstants::forget_unused().
#pragma once

#include <functional>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "ops/program.h"
#include "runtime/handle_count.h"

namespace walle::runtime {

class FoldedConstants {
 public:
  using Compute = std::function<Result<std::vector<Tensor>>(const ops::Program& one_node)>;

  // The results of a program of one node whose inputs are constants, computed now if nobody holds them.
  Result<std::vector<Tensor>> get(const ops::Program& one_node, const Compute& compute);
  // Each constant of a program that is equal to one that another plan holds becomes that one.
  void share(ops::Program& program);

  // The handles held here; then the entries that nobody needs go. Both while mutex() is held.
  void count(HandleCount& counts) const;
  void drop_unused(const HandleCount& counts);
  std::mutex& mutex() { return mutex_; }

  size_t entries() const;
  int64_t bytes() const;

 private:
  struct Fold {
    ops::ProgramNode node;  // operator, attributes, raster or loop
    std::vector<Tensor> sources;
    std::vector<Tensor> results;
    bool used = false;
  };
  const Fold* find(uint64_t key, const ops::Program& one_node) const;

  mutable std::mutex mutex_;
  std::unordered_multimap<uint64_t, Fold> folds_;
  std::unordered_multimap<uint64_t, Tensor> shared_;  // by content
};

}  // namespace walle::runtime
