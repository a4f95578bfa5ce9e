#include "raster/algebra.h"

#include <algorithm>

#include "raster/compose.h"
#include "raster/digits.h"
#include "raster/simplify.h"

namespace walle::raster {

namespace {
// Pieces that one composition of a proof may take, and regions up to which an adjoint asks whether it must
// sum: that asks all pairs, about half a million compositions at this number. Chosen, not measured; past it
// the answer is "not proved", which costs an optimisation and never a result.
constexpr size_t kMaxPieces = 1024;

Region swapped(const Region& r) {
  Region s = r;
  s.source = 0;
  std::swap(s.src, s.dst);
  return s;
}

// dst[x] = src[x] wherever it copies. Two affine functions agree on a box exactly when they agree at index 0
// and along every axis of more than one step, so nothing is missed.
bool is_identity(const Region& r) {
  if (r.src.offset != r.dst.offset) return false;
  for (int a = 0; a < r.rank; ++a)
    if (r.size[a] > 1 && r.src.stride[a] != r.dst.stride[a]) return false;
  return true;
}

Dim total(const Raster& raster) {
  Dim n = 0;
  for (const Region& r : raster.regions) n += r.elements();
  return n;
}

// Every element a writes is written by b from the same place. `swapped(ra)` reads a's destinations in step
// with a's sources; composed with b it pairs b's sources with a's, for the elements that both write. All of
// these pairs must be equal ones, and as many as ra has elements: then none of them is b's to miss.
bool covered_alike(const Raster& a, const Raster& b) {
  for (const Region& ra : a.regions) {
    Dim found = 0;
    for (const Region& rb : b.regions) {
      const auto pairs = compose(swapped(ra), rb, kMaxPieces);
      if (!pairs) return false;
      for (const Region& p : *pairs) {
        if (rb.source != ra.source || !is_identity(p)) return false;
        found += p.elements();
      }
    }
    if (found != ra.elements()) return false;
  }
  return true;
}
}  // namespace

// One direction is enough: all that a writes, b writes alike, and neither writes an element twice, so with as
// many elements in all b has none left to write elsewhere. Fills must agree even when nothing is left for
// them; that is cheap to ask and the exact question (uncovered) is not.
bool prove_equal(const Raster& a, const Raster& b) {
  if (a.accumulate || b.accumulate || a.fill.has_value() != b.fill.has_value()) return false;
  if (a.fill && a.fill->bytes != b.fill->bytes) return false;
  return total(a) == total(b) && covered_alike(a, b);
}

// A fill is a value that came from nowhere and a sum forgets its terms: neither goes back. Without them the
// raster pairs `total` elements; if no destination and no source occurs in two pairs, and both tensors have
// as many elements as there are pairs, every element of both is in exactly one: a permutation, and its
// inverse is its transpose.
std::optional<Raster> invert(const Raster& raster, Dim src_elements, Dim dst_elements) {
  if (raster.accumulate || raster.fill || src_elements != dst_elements || total(raster) != src_elements)
    return std::nullopt;
  Raster back;
  for (const Region& r : raster.regions) {
    if (r.source != 0) return std::nullopt;
    back.regions.push_back(swapped(r));
  }
  if (!disjoint_destinations(back) || !disjoint_destinations(raster)) return std::nullopt;
  simplify(back);
  return back;
}

// A region is disjoint from itself when its destination is a number system (raster/digits.h), and from an
// earlier one when reading the earlier one's destinations through it finds nothing.
bool disjoint_destinations(const Raster& raster) {
  for (size_t i = 0; i < raster.regions.size(); ++i) {
    const Region& r = raster.regions[i];
    if (r.elements() > 0 && !digits_of(r)) return false;
    for (size_t j = 0; j < i; ++j) {
      const auto meet = compose(swapped(raster.regions[j]), r, kMaxPieces);
      if (!meet || !meet->empty()) return false;
    }
  }
  return true;
}

// y = M x, so the gradient of x is M transposed times that of y: the same pairs, read the other way. A source
// stride of 0 (repeated) becomes a destination stride of 0 (summed), and what M filled depends on no source,
// so it hands nothing back. What M never read has a row of zeros: the fill.
Raster adjoint(const Raster& raster, int source) {
  Raster out;
  out.fill = Fill{};
  for (const Region& r : raster.regions)
    if (r.source == source) out.regions.push_back(swapped(r));
  // Adding onto a zero fill is right in any case, for disjoint regions too; a plain copy is only cheaper.
  out.accumulate = out.regions.size() > kMaxPieces || !disjoint_destinations(out);
  simplify(out);
  return out;
}

}  // namespace walle::raster
