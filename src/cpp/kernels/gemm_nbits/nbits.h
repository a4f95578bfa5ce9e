// The product of float32 A with packed weights of 2, 4 or 8 bits, which stay packed: C = A B + bias, column j
// of B being the row j of the model's matrix.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/checked.h"
#include "kernels/gemm/gemm.h"
#include "kernels/gemm_nbits/nbits_table.h"
#include "kernels/isa.h"

namespace walle::kernels {

const NBitsTable& nbits_table(Isa isa);
// Of each set, and of what stands beside them; the best one last.
std::span<const Variant<NBitsDotTable>> nbits_dot_forms();
// The best one within what may be used whose panels are `nr` wide: weights lie in those of a set's table, and
// a build may have products of wider vectors than its sets.
const Variant<NBitsDotTable>& nbits_dot_form(base::Capabilities usable, int nr);

enum class NBitsZeros : uint8_t { none, codes, floats };

// How a model has its weights (ops/composite/matmul_n_bits.cc), with scales and float zero points as float32.
struct NBitsSource {
  const uint8_t* codes = nullptr;
  const float* scales = nullptr;
  const uint8_t* zero_codes = nullptr;
  const float* zeros = nullptr;
};

// Weights in panels. A block longer than kLongest steps, or not made of whole words, lies as pieces that are.
class NBitsWeights {
 public:
  static constexpr int64_t kLongest = 256;  // steps that are summed in one chain
  NBitsWeights(int nr, int bits, int64_t n, int64_t k, int64_t block, NBitsZeros zeros);

  int64_t bytes() const { return panels() * panel_bytes(); }
  void pack(const NBitsSource& source, std::byte* out) const;

  int bits() const { return bits_; }
  int nr() const { return nr_; }
  int64_t n() const { return n_; }
  int64_t k() const { return k_; }
  int64_t words() const { return piece_ / granule(); }  // of a column's piece
  int64_t pieces() const { return blocks_ * each_; }
  int64_t piece() const { return piece_; }
  int64_t panels() const { return base::ceil_div(n_, int64_t{nr_}); }
  NBitsZeros zeros() const { return zeros_; }
  NBitsPanel panel(const std::byte* packed, int64_t panel, int64_t first_piece = 0) const;
  // The steps [first, last) of k that piece q holds.
  int64_t first_step(int64_t q) const { return std::min(q / each_ * block_ + q % each_ * piece_, k_); }
  int64_t last_step(int64_t q) const {
    return std::min({first_step(q) + piece_, (q / each_ + 1) * block_, k_});
  }
  int64_t piece_of(int64_t step) const { return step / block_ * each_ + step % block_ / piece_; }

 private:
  int64_t granule() const { return 32 / bits_; }
  int64_t codes_bytes() const { return pieces() * words() * nr_ * 4; }
  int64_t scales_bytes() const { return pieces() * nr_ * 4; }
  int64_t panel_bytes() const;
  void pack_column(const NBitsSource& source, int64_t j, std::byte* panel) const;
  void pack_zeros(const NBitsSource& source, int64_t j, std::byte* panel) const;

  int nr_, bits_;
  int64_t n_, k_;
  int64_t block_;   // of the model
  int64_t blocks_;  // of a column
  int64_t each_;    // pieces of a block
  int64_t piece_;   // steps, with those that only fill up a word
  NBitsZeros zeros_;
};

struct NBitsGemm {
  int64_t m = 0;
  const float* a = nullptr;  // m x k
  const std::byte* packed = nullptr;
  const float* bias = nullptr;
  float* c = nullptr;  // m x n
};

struct NBitsKernels {
  const NBitsTable* table = nullptr;
  const GemmTable* gemm = nullptr;
  const NBitsDotTable* dot = nullptr;
  bool int8 = false;  // A may be quantised to int8 by the weights' blocks, if those have 4 or 8 bits
};

// Whether floats are multiplied as digits of 8 bits, exactly, and not by decoded weights.
bool nbits_by_digits(const NBitsKernels& kernels, const NBitsWeights& weights, int64_t m);
int64_t nbits_workspace_bytes(const NBitsKernels& kernels, const NBitsWeights& weights, int64_t m,
                              int threads);

// Few rows by weights of 4 or 8 bits are products of integers as well: A as 32 bits in four digits, whose
// sums are exact within a block. An A with NaN or an infinity is multiplied as floats.
void run_nbits_gemm(const NBitsKernels& kernels, const NBitsWeights& weights, const NBitsGemm& gemm,
                    int threads, std::byte* workspace);

}  // namespace walle::kernels
