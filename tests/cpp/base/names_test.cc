#include "base/names.h"

#include <gtest/gtest.h>

#include <regex>
#include <vector>

#include "base/name_shapes.h"

namespace walle::base {
namespace {

using Names = std::vector<std::string>;

void expect(NameKind kind, const Names& good, const Names& bad) {
  const NameRule& rule = name_rule(kind);
  for (const std::string& name : good)
    EXPECT_TRUE(valid_name(kind, name)) << rule.kind << " '" << name << "'";
  for (const std::string& name : bad)
    EXPECT_FALSE(valid_name(kind, name)) << rule.kind << " '" << name << "'";
}

TEST(Names, OfTasksAreWordsThatMayBeFolders) {
  expect(NameKind::task, {"a", "a-b_c", "z9", "root", "console", std::string(64, 'a')},
         {"", "A", "9", "a.b", "a/b", "-a", "_a", "a b", "\xc3\xa4", "con", "lpt9", std::string(65, 'a')});
}

TEST(Names, OfScenariosAreNoRolesOfTheTrust) {
  expect(NameKind::scenario, {"shop", "com", "com10", "rootless", "snap-shot"},
         {"root", "timestamp", "snapshot", "targets", "director", "nul", "com1", "1shop"});
}

TEST(Names, OfOperatorsDevicesAndCodes) {
  expect(NameKind::login, {"ann", "0", "ann.b-c_d"}, {"", ".ann", "Ann", "a b", "-a", std::string(65, 'a')});
  expect(NameKind::device, {"d-0A_9", "-"}, {"", "d.1", "d/1", "d+1", "d#", std::string(65, 'a')});
  expect(NameKind::code, {"12345678", std::string(64, '_')}, {"1234567", std::string(65, '_'), "1234567!"});
  expect(NameKind::release, {"rank-12", std::string(96, 'r')}, {"Rank-1", "1", std::string(97, 'r')});
}

TEST(Names, OfCode) {
  expect(NameKind::function, {"main", "_f", "F9"},
         {"", "9f", "a.b", "a-b", "\xc3\xa4", std::string(65, 'a')});
  expect(NameKind::host_call, {"walle", "walle.kv.get", "_._"}, {"", ".", "a.", ".a", "a..b", "1a", "a.1"});
}

TEST(Names, VersionsAreSemantic) {
  expect(NameKind::version,
         {"0.0.0", "1.20.300", "1.0.0-rc.1", "1.0.0-0a", "1.0.0+001", "1.0.0--+-", "1.0.0-x.7.z.92+b.lock.1"},
         {"", "1", "1.0", "1.0.0.0", "01.0.0", "1.0.0-", "1.0.0-01", "1.0.0+", "1.0.0+a+b", "1.0.0-a..b",
          "v1.0.0", "1.0.0 ", "1..0", "1.0.1234567890", "1.0.0+b.lock", "1.0.0-" + std::string(59, 'a')});
  expect(NameKind::python, {"3.13", "3.13.5", "100.200.300"},
         {"3", "3.", "3.13.5.1", "3.x", "3.1000", "3..5"});
}

TEST(Names, OfFilesAreRelativeAndPlain) {
  expect(NameKind::file,
         {"a", "a/b", "models/x.walle",
          "gr\xc3\xbc\xc3\x9f"
          "e",
          "..a", "a.", "a b", ".gitignore"},
         {"", "/a", "a/", "a//b", ".", "..", "a/../b", "./a", "a\\b", "a\nb", "\xff", "a\x7f", ".git/x",
          "a/.GIT", "a/.git. ", "git~1", "...", std::string("a\0b", 3), std::string(256, 'x')});
}

TEST(Names, OfEventsArePrintable) {
  expect(NameKind::event,
         {"click",
          "gr\xc3\xbc\xc3\x9f"
          "e an alle",
          "<>", std::string(128, 'e')},
         {"", "a\"b", "a\tb", "\x7f", "\xff", "\xed\xa0\x80", std::string(129, 'e')});
  expect(NameKind::author, {"Ann B."}, {"", "  ", "Ann <a@b>", "Ann\n", std::string("\0", 1)});
}

TEST(Names, PatternsSayTheSame) {
  const Names all = {"a",   "A",    "9",  "_",  "-",   ".",  "a.b", "a/b", "a-b_c", "A_9",     "a+b",
                     "9.9", "a..b", ".a", "a.", "a.9", "f0", "",    " ",   "a b",   "\xc3\xa4"};
  for (size_t i = 0; i < name_rules().size(); ++i) {
    const NameRule& rule = name_rules()[i];
    if (rule.shape.pattern.empty() || rule.least > 1) continue;
    const std::regex pattern{std::string(rule.shape.pattern)};
    for (const std::string& name : all)
      EXPECT_EQ(std::regex_search(name, pattern), valid_name(static_cast<NameKind>(i), name))
          << rule.kind << " '" << name << "'";
  }
}

TEST(Names, OneThatIsNoneIsToldWithItsRule) {
  const Status told = check_name(NameKind::scenario, "Shop", "here");
  EXPECT_EQ(told.error().group(), ErrorGroup::argument);
  EXPECT_EQ(told.error().message(),
            "scenario 'Shop'; expected 1 to 64 of a-z, 0-9, - and _, of which the first is a letter "
            "[at here]. Next: choose another name");
  EXPECT_NE(check_name(NameKind::scenario, "director", "").error().text().expected.find(", none of con prn"),
            std::string::npos);
  EXPECT_EQ(check_name(NameKind::sha256, std::string(70, 'a'), "", ErrorGroup::model).error().text().given,
            "digest '" + std::string(60, 'a') + "...' of 70 bytes");
  EXPECT_TRUE(check_name(NameKind::sha256, std::string(64, 'a'), "").ok());
}

TEST(Names, PathsOfPackages) {
  const std::string path = package_path("shop", "rank", "1.0.0-rc.1+7");
  EXPECT_EQ(path, "shop/rank/rank-1.0.0-rc.1+7.walp");
  const auto names = package_names(path);
  ASSERT_TRUE(names);
  EXPECT_EQ((*names)[0], "shop");
  EXPECT_EQ((*names)[1], "rank");
  EXPECT_EQ((*names)[2], "1.0.0-rc.1+7");
  for (const char* bad :
       {"", "/", "//", "shop", "shop/rank", "shop/rank/sort-1.0.0.walp", "shop/rank/rank-1.walp",
        "shop/rank/rank-1.0.0.wal", "shop/rank/rank_1.0.0.walp", "root/rank/rank-1.0.0.walp",
        "shop/a/rank/rank-1.0.0.walp", "/rank/rank-1.0.0.walp", "shop/rank/rank-.walp", ".walp"})
    EXPECT_FALSE(package_names(bad)) << bad;
}

}  // namespace
}  // namespace walle::base
