#include "link/policy/report.h"

#include <gtest/gtest.h>

namespace walle::link {
namespace {

Report good_report() {
  return {.device = 0x1122334455667788,
          .release = "rank-2",
          .scenario = "shop",
          .task = "rank",
          .version = "2.0.0",
          .cohort = Cohort::control,
          .status = ReportStatus::limit,
          .phase = "execute",
          .error_type = "walle_rt.errors.DeadlineError",
          .limit = "cpu_ms",
          .firings = 3,
          .failures = 1,
          .epoch = 9,
          .seq = 77};
}

TEST(Report, ComesBackAsItWasWritten) {
  const auto bytes = write_reports({good_report(), {.release = "a", .scenario = "b", .task = "c"}});
  ASSERT_TRUE(bytes.ok());
  const auto read = read_reports(*bytes);
  ASSERT_TRUE(read.ok()) << read.error().message();
  ASSERT_EQ(read->size(), 2u);
  const Report& r = (*read)[0];
  EXPECT_EQ(r.device, 0x1122334455667788u);
  EXPECT_EQ(r.cohort, Cohort::control);
  EXPECT_EQ(r.status, ReportStatus::limit);
  EXPECT_EQ(r.error_type, "walle_rt.errors.DeadlineError");
  EXPECT_EQ(r.failures, 1u);
  EXPECT_EQ(r.seq, 77u);
  EXPECT_EQ((*read)[1].status, ReportStatus::ok);
  EXPECT_TRUE(read_reports(*write_reports({}))->empty());
}

TEST(Report, CarriesNamesAlone) {
  const auto refused = [](const Report& r) { return !write_reports({r}).ok(); };
  Report r = good_report();
  r.error_type = "ValueError: could not convert 'Ada'";
  EXPECT_TRUE(refused(r));
  r.error_type = std::string(129, 'x');
  EXPECT_TRUE(refused(r));
  r.error_type = std::string(128, 'x');
  EXPECT_FALSE(refused(r));
  r.error_type = "caf\xc3\xa9";
  EXPECT_TRUE(refused(r));
  r = good_report();
  r.release = "";
  EXPECT_TRUE(refused(r));
  r = good_report();
  r.version = "";
  EXPECT_FALSE(refused(r));
  EXPECT_TRUE(refused({.release = "a", .scenario = "b", .task = ""}));
}

TEST(Report, BatchesEndSomewhere) {
  EXPECT_TRUE(read_reports(*write_reports(std::vector<Report>(kMostReports, good_report()))).ok());
  EXPECT_FALSE(write_reports(std::vector<Report>(kMostReports + 1, good_report())).ok());
}

TEST(Report, EveryFlippedBitIsSeen) {
  const std::string bytes = *write_reports({good_report()});
  for (size_t at = 0; at < bytes.size(); ++at)
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = bytes;
      damaged[at] = static_cast<char>(damaged[at] ^ 1 << bit);
      EXPECT_FALSE(read_reports(damaged).ok()) << at;
    }
  for (size_t size = 0; size < bytes.size(); ++size) EXPECT_FALSE(read_reports(bytes.substr(0, size)).ok());
}

}  // namespace
}  // namespace walle::link
