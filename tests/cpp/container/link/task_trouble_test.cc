#include "container/link/task_trouble.h"

#include <gtest/gtest.h>

namespace walle::container {
namespace {

TEST(TaskTrouble, OfAFailureHasItsPhaseTypeAndLimit) {
  TaskError error;
  error.task = "rank";
  error.version = "1.0.0";
  error.phase = Phase::postprocess;
  error.type = "ValueError";
  const link::TaskTrouble trouble = trouble_of(error);
  EXPECT_EQ(trouble.phase, "postprocess");
  EXPECT_EQ(trouble.type, "ValueError");
  EXPECT_EQ(trouble.limit, vm::reason_name(vm::Reason::none));
  EXPECT_EQ(trouble.message, error.text());
  error.limit = vm::Reason::heap;
  EXPECT_EQ(trouble_of(error).limit, "heap");
}

TEST(TaskTrouble, OfATaskIsItsNewestFailure) {
  TaskInfo info;
  info.error_phase = "execute";
  info.error_type = "KeyError";
  info.error_limit = "heap";
  info.error = "all of it";
  const link::TaskTrouble trouble = trouble_of(info);
  EXPECT_EQ(trouble.phase, "execute");
  EXPECT_EQ(trouble.type, "KeyError");
  EXPECT_EQ(trouble.limit, "heap");
  EXPECT_EQ(trouble.message, "all of it");
}

TEST(TaskTrouble, OfOneThatDoesNotOpenIsThatWhateverFailedBefore) {
  TaskInfo info;
  info.status = TaskStatus::broken;
  info.error_phase = "execute";
  info.error_type = "KeyError";
  EXPECT_EQ(trouble_of(info).phase, "stage");
  EXPECT_EQ(trouble_of(info).type, "LoadError");
}

TEST(TaskTrouble, OfAProcessBeforeThisOneItsWordsAreLeft) {
  TaskInfo info;
  info.status = TaskStatus::set_aside;
  info.error = "set aside after 5 failures in a row";
  EXPECT_EQ(trouble_of(info).phase, "execute");
  EXPECT_EQ(trouble_of(info).type, "SetAside");
  EXPECT_EQ(trouble_of(info).message, info.error);
}

}  // namespace
}  // namespace walle::container
