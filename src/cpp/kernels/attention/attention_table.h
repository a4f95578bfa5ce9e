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
  // x[i] = cap * tanh(x[i]).
  void (*soften)(float* x, int64_t n, float cap);
  // x[i] += y[i].
  void (*add)(float* x, const float* y, int64_t n);
  // Whether one of x is greater than the limit, or NaN.
  bool (*exceeds)(const float* x, int64_t n, float limit);

  // Of few queries, a row each. s[i][l] = q[i] . k[l]; every pair of rows is `depth` long.
  void (*dots)(const float* q, int64_t rows, int64_t depth, const float* k, int64_t k_row, int64_t keys,
               float* s, int64_t s_row);
  // out[i][j] = sum over keys l of p[i][l] v[l][j].
  void (*mix_rows)(const float* p, int64_t p_row, int64_t rows, const float* v, int64_t v_row, int64_t keys,
                   int64_t cols, float* out, int64_t out_row);
};

}  // namespace walle::kernels
