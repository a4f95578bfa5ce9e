#include "stream/event/catalog_file.h"

#include <gtest/gtest.h>

#include "base/fault_env.h"
#include "stream/event/event_log.h"

namespace walle::stream {
namespace {

using base::FaultEnv;

const EventLogOptions kSmall{.journal_bytes = 8192};

Catalog declared(std::vector<FieldDecl> fields) {
  Catalog c;
  const auto id = c.declare({"view", EventKind::custom, std::move(fields)});
  EXPECT_TRUE(id.ok()) << id.error().message();
  return c;
}

FieldDecl field(const char* name, Sensitivity label, ColumnType type = ColumnType::integer) {
  return {.name = name, .type = type, .sensitivity = label};
}

std::unique_ptr<EventLog> opened(FaultEnv& env, const Catalog& catalog) {
  auto log = EventLog::open(env, "/log", catalog, kSmall);
  EXPECT_TRUE(log.ok()) << log.error().message();
  return log.ok() ? std::move(*log) : nullptr;
}

const FieldDecl& at(const Catalog& catalog, const char* name) {
  const FieldDecl* found = catalog.field(*catalog.find_event("view"), *catalog.find_field(name));
  EXPECT_NE(found, nullptr);
  return *found;
}

void append(FaultEnv& env, EventLog& log) {
  Event e;
  e.event = *log.catalog().find_event("view");
  e.ts = env.wall_us();
  ASSERT_TRUE(log.append(e).ok());
}

TEST(CatalogFile, AFlippedBitChangesNoLabelAndKeepsNoLogFromOpening) {
  const Catalog catalog = declared({field("name", Sensitivity::secret), field("n", Sensitivity::open)});
  for (const char* damaged : {"/log/catalog.walc", "/log/catalog.walc.mirror"}) {
    FaultEnv env;
    {
      append(env, *opened(env, catalog));
    }
    const std::string good = env.file(damaged);
    for (size_t bit = 0; bit < 8 * good.size(); ++bit) {
      env.file(damaged)[bit / 8] = static_cast<char>(good[bit / 8] ^ (1 << bit % 8));
      const auto log = opened(env, Catalog());
      ASSERT_EQ(log->catalog().serialize(), catalog.serialize()) << bit;
      ASSERT_EQ(log->report().mended_copies, 1u) << bit;
      ASSERT_EQ(env.file(damaged), good) << bit;
    }
    for (size_t size = 0; size < good.size(); ++size) {
      env.file(damaged).resize(size);
      ASSERT_EQ(at(opened(env, Catalog())->catalog(), "name").sensitivity, Sensitivity::secret) << size;
    }
    ASSERT_TRUE(env.remove_file(damaged).ok());
    ASSERT_EQ(at(opened(env, Catalog())->catalog(), "name").sensitivity, Sensitivity::secret);
  }
}

TEST(CatalogFile, TwoDamagedCopiesAreAnErrorThatNamesThem) {
  FaultEnv env;
  {
    append(env, *opened(env, declared({})));
  }
  for (const char* path : {"/log/catalog.walc", "/log/catalog.walc.mirror"}) env.file(path)[50] ^= 1;
  const auto log = EventLog::open(env, "/log", declared({}), kSmall);
  ASSERT_FALSE(log.ok());
  EXPECT_NE(log.error().message().find("its mirror"), std::string::npos) << log.error().message();
}

// An app of the version before knows fewer events and fields, or lower labels.
TEST(CatalogFile, AnOlderProgramOpensItsLogAndTakesNothingAway) {
  FaultEnv env;
  Catalog newer = declared({field("a", Sensitivity::secret), field("b", Sensitivity::open)});
  ASSERT_TRUE(newer.declare({"later", EventKind::custom, {field("c", Sensitivity::open)}}).ok());
  {
    append(env, *opened(env, newer));
  }
  const auto log = opened(env, declared({field("a", Sensitivity::open), field("d", Sensitivity::open)}));
  const EventDecl& view = log->catalog().events()[*log->catalog().find_event("view")];
  ASSERT_EQ(view.fields.size(), 3u);
  EXPECT_EQ(view.fields[0].sensitivity, Sensitivity::secret);
  EXPECT_EQ(view.fields[1].name, "b");
  EXPECT_EQ(view.fields[2].name, "d");
  EXPECT_TRUE(log->catalog().find_event("later"));
  const auto wrong =
      EventLog::open(env, "/log2", declared({field("a", Sensitivity::open, ColumnType::text)}), kSmall);
  ASSERT_TRUE(wrong.ok());
  Catalog other = newer;
  EXPECT_FALSE(
      other.adopt({"view", EventKind::custom, {field("a", Sensitivity::open, ColumnType::text)}}).ok());
  EXPECT_FALSE(other.adopt({"view", EventKind::click, {}}).ok());
}

TEST(Catalog, LabelsRiseAndAreLoweredForNewEventsOnly) {
  Catalog c = declared({field("x", Sensitivity::personal)});
  const auto falls = c.declare({"view", EventKind::custom, {field("x", Sensitivity::open)}});
  ASSERT_FALSE(falls.ok());
  EXPECT_NE(falls.error().message().find("lower it"), std::string::npos) << falls.error().message();
  EXPECT_EQ(at(c, "x").sensitivity, Sensitivity::personal);
  ASSERT_TRUE(c.declare({"view", EventKind::custom, {field("x", Sensitivity::secret)}}).ok());
  ASSERT_TRUE(c.lower("view", "x", Sensitivity::open, 10).ok());
  EXPECT_EQ(at(c, "x").label_at(9), Sensitivity::secret);
  EXPECT_EQ(at(c, "x").label_at(10), Sensitivity::open);
  ASSERT_TRUE(c.extend("view", field("x", Sensitivity::personal)).ok());
  EXPECT_EQ(at(c, "x").label_at(10), Sensitivity::personal);
  ASSERT_TRUE(c.lower("view", "x", Sensitivity::open, 5).ok());  // never back
  EXPECT_EQ(at(c, "x").label_at(9), Sensitivity::secret);
  EXPECT_EQ(at(c, "x").label_at(10), Sensitivity::open);
  EXPECT_FALSE(c.lower("view", "x", Sensitivity::secret, 20).ok());
  EXPECT_FALSE(c.lower("view", "y", Sensitivity::open, 20).ok());
  EXPECT_FALSE(c.lower("vie", "x", Sensitivity::open, 20).ok());
  const auto again = Catalog::parse(c.serialize());
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(at(*again, "x").label_at(9), Sensitivity::secret);
  EXPECT_EQ(at(*again, "x").label_at(10), Sensitivity::open);
}

TEST(Catalog, AFieldIsAppendedWithoutTheOthers) {
  Catalog c = declared({field("a", Sensitivity::open), field("b", Sensitivity::secret)});
  ASSERT_TRUE(c.extend("view", field("c", Sensitivity::open, ColumnType::text)).ok());
  const EventDecl& view = c.events()[*c.find_event("view")];
  ASSERT_EQ(view.fields.size(), 3u);
  EXPECT_EQ(view.fields[1].sensitivity, Sensitivity::secret);
  EXPECT_EQ(view.fields[2].type, ColumnType::text);
  EXPECT_FALSE(c.extend("view", field("a", Sensitivity::open, ColumnType::text)).ok());
  EXPECT_FALSE(c.extend("nothing", field("a", Sensitivity::open)).ok());
  EXPECT_FALSE(c.extend("view", field("", Sensitivity::open)).ok());
}

TEST(EventLog, ALoweredLabelOutlivesTheProcess) {
  FaultEnv env;
  const Catalog before = declared({field("x", Sensitivity::secret)});
  {
    const auto log = opened(env, before);
    append(env, *log);
    ASSERT_TRUE(log->lower("view", "x", Sensitivity::open).ok());
  }
  env.lose_power();
  const auto log = opened(env, declared({field("x", Sensitivity::open)}));
  EXPECT_EQ(at(log->catalog(), "x").label_at(1), Sensitivity::secret);
  EXPECT_EQ(at(log->catalog(), "x").label_at(2), Sensitivity::open);
}

}  // namespace
}  // namespace walle::stream
