// Which keys queries see, so that blocks of keys that none of them sees are not computed.
//
// A key is hidden from a query by the band, by a bias of at most kHiddenBelow, or by `keep` with such a fill.
// Its weight is then 0 in float unless all keys of the query are hidden: exporters write the lowest float for
// -infinity, and a query without any key is then the mean of all values.
#pragma once

#include "kernels/attention/attention_problem.h"
#include "kernels/attention/attention_table.h"

namespace walle::kernels {

// Far below every score (1e29 would be one of them) and above the lowest float that masks are made of.
inline constexpr float kHiddenBelow = -1e30f;

struct KeyRange {
  int64_t from = 0, to = 0;
  int64_t count() const { return to - from; }
};

// What queries [q, q + count) see lies within; empty where the band hides all. Found from the ends inwards,
// in steps of some keys: hidden keys in between are computed.
KeyRange seen_keys(const AttentionTable& table, const Attention& a, const AttentionHead& h, int64_t q,
                   int64_t count);

// Whether the band or a -infinity hides every key from query q.
bool sees_none(const Attention& a, const AttentionHead& h, int64_t q);

// Whether query q, whose weights are NaN, becomes 0.
bool becomes_zero(const Attention& a, const AttentionHead& h, int64_t q);

}  // namespace walle::kernels
