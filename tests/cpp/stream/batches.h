// Batches for the tests of operators: short to write, compared by column.
#pragma once

#include <gtest/gtest.h>

#include "stream/operators/operators.h"

namespace walle::stream::testing {

using Cells = std::vector<Scalar>;
inline const Scalar kAbsent{};

inline Cells ints(std::initializer_list<int64_t> values) { return {values.begin(), values.end()}; }
inline Cells floats(std::initializer_list<double> values) { return {values.begin(), values.end()}; }
inline Cells texts(std::initializer_list<const char*> values) {
  Cells out;
  for (const char* v : values) out.emplace_back(std::string(v));
  return out;
}

inline tensor::Column typed(const Cells& values) {
  tensor::Column out;
  for (const Scalar& v : values) EXPECT_TRUE(out.push_back(v.cell()));
  return out;
}
inline Cells cells_of(const tensor::Column& column) {
  Cells out;
  for (size_t row = 0; row < column.size(); ++row) out.emplace_back(column[row]);
  return out;
}

inline Batch batch(std::vector<int64_t> ts, std::vector<std::pair<std::string, Cells>> columns) {
  Batch out;
  out.ts = std::move(ts);
  for (auto& [name, cells] : columns) {
    EXPECT_EQ(cells.size(), out.ts.size()) << name;
    out.columns.push_back({name, Sensitivity::personal, typed(cells)});
  }
  return out;
}

inline Cells column(const Batch& b, std::string_view name) {
  const auto at = b.find(name);
  EXPECT_TRUE(at) << "no column " << name;
  return at ? cells_of(b.columns[*at].cells) : Cells{};
}

inline void append(Batch& to, const Batch& from) {
  if (to.columns.empty()) to.columns.resize(from.columns.size());
  to.ts.insert(to.ts.end(), from.ts.begin(), from.ts.end());
  to.support.insert(to.support.end(), from.support.begin(), from.support.end());
  for (size_t c = 0; c < from.columns.size(); ++c) {
    to.columns[c].name = from.columns[c].name;
    EXPECT_TRUE(to.columns[c].cells.append(from.columns[c].cells, 0, from.rows()));
  }
}

// Rows [from, to) of `b`.
inline Batch slice(const Batch& b, size_t from, size_t to) {
  const auto part = [&](const auto& v) {
    return std::decay_t<decltype(v)>(v.begin() + from, v.begin() + to);
  };
  Batch out;
  out.ts = part(b.ts);
  for (const Column& c : b.columns) {
    out.columns.push_back({c.name, c.sensitivity, tensor::Column(c.cells.type()), c.path});
    EXPECT_TRUE(out.columns.back().cells.append(c.cells, from, to));
  }
  return out;
}

inline Batch push(Operator& op, const Batch& in) {
  auto out = op.push(in);
  EXPECT_TRUE(out.ok()) << out.error().message();
  return out.ok() ? std::move(*out) : Batch{};
}
inline Batch finish(Operator& op) {
  auto out = op.finish();
  EXPECT_TRUE(out.ok());
  return std::move(*out);
}

template <class T>
void refuses(const Result<T>& result, std::string_view part) {
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.error().message().find(part), std::string::npos) << result.error().message();
}

}  // namespace walle::stream::testing
