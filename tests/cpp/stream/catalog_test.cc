#include "stream/event/catalog.h"

#include <gtest/gtest.h>

namespace walle::stream {
namespace {

// Ids of field names are 16 bits over all events, and the largest one means "any".
TEST(Catalog, RefusesMoreNamesOfFieldsThanIds) {
  Catalog c;
  size_t names = 0;
  const auto declare = [&](size_t fields) {
    EventDecl e{"event " + std::to_string(names), EventKind::custom, {}};
    for (size_t f = 0; f < fields; ++f) e.fields.push_back({"field " + std::to_string(names++)});
    return c.declare(std::move(e));
  };
  while (names + kMaxFields <= kMaxFieldNames) ASSERT_TRUE(declare(kMaxFields).ok()) << names;
  EXPECT_FALSE(declare(kMaxFields).ok());
  EXPECT_EQ(c.field_names().size(), kMaxFieldNames);
  EXPECT_EQ(c.find_field("field 65534"), 65534);
  EXPECT_EQ(c.find_field("field 65535"), std::nullopt);
  EXPECT_TRUE(c.declare({"known names", EventKind::custom, {{"field 7"}, {"field 65534"}}}).ok());
  EXPECT_TRUE(Catalog::parse(c.serialize()).ok());
}

}  // namespace
}  // namespace walle::stream
