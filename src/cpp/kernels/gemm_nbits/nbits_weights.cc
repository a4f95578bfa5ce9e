// How weights of a few bits are packed.
#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "kernels/gemm_nbits/nbits.h"
#include "kernels/workspace.h"

namespace walle::kernels {

namespace {
using base::ceil_div;
using base::round_up;

int code_at(const uint8_t* codes, int64_t i, int bits) {
  return codes[i * bits / 8] >> (i * bits % 8) & ((1 << bits) - 1);
}

// Word of the granule that begins at step `first` of a block: of `count` codes, and zeros.
uint32_t word_of(const uint8_t* block, int64_t first, int64_t count, int bits) {
  uint32_t word = 0;
  const int64_t granule = 32 / bits;
  for (int64_t l = 0; l < granule; ++l) {
    const auto code = static_cast<uint32_t>(l < count ? code_at(block, first + l, bits) : 0);
    word |= code << (8 * (l % 4) + bits * (l / 4));
  }
  return word;
}

// 16 bits of four codes as the low halves of four bytes.
uint32_t spread(uint32_t x) {
  x = (x | x << 8) & 0x00ff00ff;
  return (x | x << 4) & 0x0f0f0f0f;
}

// The same of eight codes of 4 bits that begin a byte, which is what most weights are.
uint32_t word_of_eight(const uint8_t* from) {
  uint32_t x = 0;
  std::memcpy(&x, from, sizeof x);
  return spread(x & 0xffff) | spread(x >> 16) << 4;
}
}  // namespace

NBitsWeights::NBitsWeights(int nr, int bits, int64_t n, int64_t k, int64_t block, NBitsZeros zeros)
    : nr_(nr), bits_(bits), n_(n), k_(k), block_(block), zeros_(zeros) {
  const int64_t used = std::min(block, k);
  blocks_ = ceil_div(k, block);
  each_ = ceil_div(used, kLongest);
  piece_ = round_up(ceil_div(used, each_), granule());
  each_ = ceil_div(used, piece_);
}

int64_t NBitsWeights::panel_bytes() const {
  const int64_t zeros = zeros_ == NBitsZeros::floats  ? scales_bytes()
                        : zeros_ == NBitsZeros::codes ? pieces() * nr_
                                                      : 0;
  return round_up(codes_bytes() + scales_bytes() + zeros, int64_t{64});
}

NBitsPanel NBitsWeights::panel(const std::byte* packed, int64_t panel, int64_t first_piece) const {
  const std::byte* const at = packed + panel * panel_bytes();
  const std::byte* const zeros = at + codes_bytes() + scales_bytes();
  NBitsPanel p{
      .codes = reinterpret_cast<const uint32_t*>(at) + first_piece * words() * nr_,
      .scales = reinterpret_cast<const float*>(at + codes_bytes()) + first_piece * nr_,
  };
  if (zeros_ == NBitsZeros::codes) p.zero_codes = reinterpret_cast<const uint8_t*>(zeros) + first_piece * nr_;
  if (zeros_ == NBitsZeros::floats) p.zeros = reinterpret_cast<const float*>(zeros) + first_piece * nr_;
  return p;
}

void NBitsWeights::pack_zeros(const NBitsSource& source, int64_t j, std::byte* panel) const {
  std::byte* const zeros = panel + codes_bytes() + scales_bytes();
  const int64_t row = ceil_div(blocks_ * bits_, int64_t{8});
  for (int64_t q = 0; q < pieces(); ++q) {
    const int64_t at = q * nr_ + j % nr_, block = q / each_;
    if (zeros_ == NBitsZeros::codes)
      zeros[at] = static_cast<std::byte>(code_at(source.zero_codes + j * row, block, bits_));
    else
      std::memcpy(zeros + at * kFloatBytes, source.zeros + j * blocks_ + block, kFloatBytes);
  }
}

void NBitsWeights::pack_column(const NBitsSource& source, int64_t j, std::byte* panel) const {
  const int64_t block_bytes = ceil_div(block_ * bits_, int64_t{8});
  auto* codes = reinterpret_cast<uint32_t*>(panel) + j % nr_;
  auto* scales = reinterpret_cast<float*>(panel + codes_bytes()) + j % nr_;
  for (int64_t q = 0; q < pieces(); ++q, scales += nr_) {
    const int64_t block = q / each_;
    const uint8_t* const from = source.codes + (j * blocks_ + block) * block_bytes;
    *scales = source.scales[j * blocks_ + block];
    // What fills up a word meets zeros of A, whatever it is.
    const int64_t begin = q % each_ * piece_, end = begin + last_step(q) - first_step(q);
    for (int64_t l = begin; l < begin + piece_; l += granule(), codes += nr_) {
      const bool whole = bits_ == 4 && l + granule() <= end && l % 2 == 0;
      *codes = whole ? word_of_eight(from + l / 2) : word_of(from, l, end - l, bits_);
    }
  }
}

void NBitsWeights::pack(const NBitsSource& source, std::byte* out) const {
  if (n_ % nr_) std::memset(out + (panels() - 1) * panel_bytes(), 0, static_cast<size_t>(panel_bytes()));
  for (int64_t j = 0; j < n_; ++j) {
    std::byte* const panel = out + j / nr_ * panel_bytes();
    pack_column(source, j, panel);
    if (zeros_ != NBitsZeros::none) pack_zeros(source, j, panel);
  }
}

}  // namespace walle::kernels
