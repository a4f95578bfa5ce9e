#include "runtime/folded_constants.h"

#include <algorithm>
#include <cstring>

#include "base/hash.h"
#include "ops/stored_halves.h"
#include "runtime/weights_digest.h"

namespace walle::runtime {

namespace {
// Below this a constant is compared by content where it stands: exporters and lowering make the vectors that
// say axes and pads anew each time.
constexpr int64_t kSmallBytes = 1024;

// Axes, pads and shapes, which nobody packs. Every other constant is shared, however small: weights that were
// packed with a bias of their own for each plan took 47 MB more for 64 sizes of a picture.
bool says_sizes(const Tensor& t) { return t.dtype() == DType::int64 && t.bytes() <= kSmallBytes; }

bool same(const Tensor& a, const Tensor& b) {
  if (a.address() == b.address() && a.dtype() == b.dtype() && a.shape() == b.shape()) return true;
  return a.bytes() <= kSmallBytes && a.identical(b);
}

// Of pieces of a large tensor: whoever finds an equal one compares all bytes. Over all of them it was a third
// of what a plan of convolutions took (0.4 of 1.0 ms, for 2.3 MB).
uint64_t digest(const Tensor& of) {
  constexpr size_t kPieces = 16, kPiece = 1024;
  const Tensor t = of.as_stored();
  const std::span bytes(t.address(), static_cast<size_t>(t.bytes()));
  if (bytes.size() <= kPieces * kPiece) return digest_of(bytes)[0];
  base::Hasher hash;
  hash.value(bytes.size());
  const size_t step = (bytes.size() - kPiece) / (kPieces - 1);
  for (size_t i = 0; i < kPieces; ++i) hash.value(digest_of(bytes.subspan(i * step, kPiece))[0]);
  return hash.finish();
}

bool equal(const Tensor& a, const Tensor& b) {
  if (!ops::is_stored_half(a) && !ops::is_stored_half(b)) return a.identical(b);
  const Tensor x = a.as_stored(), y = b.as_stored();
  return x.dtype() == y.dtype() && x.shape() == y.shape() &&
         (x.address() == y.address() ||
          std::memcmp(x.address(), y.address(), static_cast<size_t>(x.bytes())) == 0);
}

// What is held for a constant that was made: nothing of one that is read where its source lies.
int64_t held_bytes(const Tensor& made, std::span<const Tensor> sources) {
  const Tensor stored = made.as_stored();
  const auto is_source = [&](const Tensor& t) { return t.defined() && t.address() == stored.address(); };
  return std::ranges::any_of(sources, is_source) ? 0 : stored.bytes();
}

uint64_t key_of(const ops::Program& one_node) {
  const ops::ProgramNode& node = one_node.nodes[0];
  base::Hasher hash;
  hash.text(node.op->name).text(node.attributes.text());
  for (const ops::Ref r : node.inputs) {
    if (r < 0) {
      hash.value(r);
      continue;
    }
    const Tensor& t = *one_node.at(r).constant;
    hash.value(t.bytes() <= kSmallBytes ? digest(t) : uint64_t{reinterpret_cast<uintptr_t>(t.address())});
  }
  return hash.finish();
}

// A fill without sources is of whatever shape its result has.
bool has_forms(const ops::Program& one_node, const std::vector<Tensor>& results) {
  return std::ranges::equal(one_node.outputs, results, [&](ops::Ref r, const Tensor& t) {
    return one_node.at(r).dtype == t.dtype() && one_node.at(r).shape == t.shape();
  });
}

std::vector<Tensor> sources_of(const ops::Program& one_node) {
  std::vector<Tensor> sources;
  for (const ops::Ref r : one_node.nodes[0].inputs)
    sources.push_back(r < 0 ? Tensor() : *one_node.at(r).constant);
  return sources;
}
}  // namespace

const FoldedConstants::Fold* FoldedConstants::find(uint64_t key, const ops::Program& one_node) const {
  const ops::ProgramNode& node = one_node.nodes[0];
  const std::vector<Tensor> sources = sources_of(one_node);
  const auto [first, last] = folds_.equal_range(key);
  for (auto it = first; it != last; ++it) {
    const Fold& known = it->second;
    if (known.node.op == node.op && known.node.attributes == node.attributes &&
        known.node.raster == node.raster && known.node.loop == node.loop &&
        has_forms(one_node, known.results) && std::ranges::equal(known.sources, sources, same))
      return &known;
  }
  return nullptr;
}

Result<std::vector<Tensor>> FoldedConstants::get(const ops::Program& one_node, const Compute& compute) {
  const uint64_t key = key_of(one_node);
  std::lock_guard lock(mutex_);
  if (const Fold* known = find(key, one_node)) return known->results;
  if (ops::stays_half(one_node, one_node.nodes[0])) {
    WALLE_ASSIGN(const Tensor stored, ops::fold_half(one_node, compute));
    folds_.emplace(key,
                   Fold{.node = one_node.nodes[0], .sources = sources_of(one_node), .results = {stored}});
    return std::vector<Tensor>{stored};
  }
  ops::Program readable = one_node;
  for (ops::ProgramValue& value : readable.values)
    if (value.constant) {
      WALLE_ASSIGN(value.constant, value.constant->for_one_reading());
    }
  WALLE_ASSIGN(std::vector<Tensor> results, compute(readable));
  if (std::ranges::any_of(results, [](const Tensor& t) { return t.bytes() > kSmallBytes; }))
    folds_.emplace(key, Fold{.node = one_node.nodes[0], .sources = sources_of(one_node), .results = results});
  return results;
}

void FoldedConstants::share(ops::Program& program) {
  std::lock_guard lock(mutex_);
  for (ops::ProgramValue& value : program.values) {
    // What others hold is the model's, or came of get(), and is one for all plans already.
    if (!value.constant || value.constant->buffer().handles() > 1 || says_sizes(*value.constant)) continue;
    const uint64_t key = digest(*value.constant);
    const auto [first, last] = shared_.equal_range(key);
    const auto known =
        std::find_if(first, last, [&](const auto& e) { return equal(e.second, *value.constant); });
    if (known != last)
      value.constant = known->second;
    else
      shared_.emplace(key, *value.constant);
  }
}

void FoldedConstants::count(HandleCount& counts) const {
  for (const auto& [key, fold] : folds_) {
    for (const Tensor& t : fold.sources) counts.add(t);
    for (const Tensor& t : fold.results) counts.add(t);
  }
  for (const auto& [key, tensor] : shared_) counts.add(tensor);
}

// A fold is used where its results are held elsewhere, or are what a fold that is used was made of: the next
// plan asks for the whole chain. Rounds until nothing changes; chains are two or three long.
void FoldedConstants::drop_unused(const HandleCount& counts) {
  std::vector<const std::byte*> needed;
  const auto is_needed = [&](const Tensor& t) {
    return counts.held_elsewhere(t) || std::ranges::find(needed, t.buffer().address()) != needed.end();
  };
  for (auto& [key, fold] : folds_) fold.used = false;
  for (bool changed = true; changed;) {
    changed = false;
    for (auto& [key, fold] : folds_) {
      if (fold.used || std::ranges::none_of(fold.results, is_needed)) continue;
      fold.used = changed = true;
      for (const Tensor& t : fold.sources) needed.push_back(t.buffer().address());
    }
  }
  std::erase_if(folds_, [](const auto& e) { return !e.second.used; });
  std::erase_if(shared_, [&](const auto& e) { return !counts.held_elsewhere(e.second); });
}

int64_t FoldedConstants::bytes() const {
  std::lock_guard lock(mutex_);
  int64_t sum = 0;
  for (const auto& [key, fold] : folds_)
    for (const Tensor& t : fold.results) sum += held_bytes(t, fold.sources);
  // Stored in 16 bits they are the model's own.
  for (const auto& [key, tensor] : shared_) sum += ops::is_stored_half(tensor) ? 0 : tensor.bytes();
  return sum;
}

size_t FoldedConstants::entries() const {
  std::lock_guard lock(mutex_);
  return folds_.size() + shared_.size();
}

}  // namespace walle::runtime
