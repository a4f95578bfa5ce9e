// What attention_simd.cc exports per instruction set.
#pragma once

#include <cstdint>

namespace walle::kernels {

// Scores of one block lie as [keys][nr]: a query per lane, nr as in GemmTable. A maximum or a sum over keys
// then never crosses lanes, and no row has a tail.
struct AttentionTable {
  // Scores become exp(score - largest of the query); inverse[q] = 1 / their sum. The first `queries` lanes
  // count; the others may hold anything.
  void (*softmax)(float* scores, int64_t keys, int64_t queries, float* inverse);
  // out[q][j] = inverse[q] * sum over keys l of p[l * nr + q] v[l * nr + j], for q < queries and j < cols <=
  // nr; rows of `out` are out_row apart.
  void (*mix)(const float* p, const float* v, int64_t keys, int64_t queries, int64_t cols,
              const float* inverse, float* out, int64_t out_row);
};

}  // namespace walle::kernels
