// 128 bits over the bytes of weights: which file of the weights cache belongs to them.
//
// Not for bytes that somebody chooses to collide: no secret goes in. Bytes that differ by accident share a
// digest with a chance of about 2^-64 where all differences fall to one state, and with less otherwise; two
// that differ in one word alone never share the state that takes it.
#pragma once

#include <array>
#include <cstring>
#include <span>

#include "base/hash.h"

namespace walle::runtime {

using Digest = std::array<uint64_t, 2>;

// Four states side by side, or each word would wait for the multiplications of the one before.
inline Digest digest_of(std::span<const std::byte> bytes) {
  constexpr size_t kStates = 4;
  constexpr size_t kStep = kStates * sizeof(uint64_t);
  // Any four different numbers; these are the first digits of pi.
  std::array<uint64_t, kStates> state{0x243f6a8885a308d3, 0x13198a2e03707344, 0xa4093822299f31d0,
                                      0x082efa98ec4e6c89};
  const auto take = [&](const std::byte* from) {
    for (size_t i = 0; i < kStates; ++i)
      state[i] = base::mix(state[i], base::load_le<uint64_t>(from + i * sizeof(uint64_t)));
  };
  size_t at = 0;
  for (; at + kStep <= bytes.size(); at += kStep) take(bytes.data() + at);
  if (at < bytes.size()) {
    std::array<std::byte, kStep> rest{};
    std::memcpy(rest.data(), bytes.data() + at, bytes.size() - at);
    take(rest.data());
  }
  Digest out{bytes.size(), ~uint64_t{bytes.size()}};
  for (size_t i = 0; i < kStates; ++i) {
    out[0] = base::mix(out[0], state[i]);
    out[1] = base::mix(out[1], state[kStates - 1 - i] * 0x9e3779b97f4a7c15);
  }
  return out;
}

}  // namespace walle::runtime
