// AppFunctions: an answer, a limit, or a reason; a function that hangs holds nobody.
#include "container/device/app_functions.h"

#include <gtest/gtest.h>

#include <future>
#include <stdexcept>
#include <thread>

namespace walle::container {
namespace {

const int kDevice = 0;

class AppFunctionsTest : public testing::Test {
 protected:
  ~AppFunctionsTest() override { go_.set_value(); }

  CallSpec spec(uint32_t wall_ms) const {
    return {.function = "price", .returns = CallType::integer, .limits = {.wall_ms = wall_ms}};
  }
  AppFunction hangs() {
    return [go = hold_](std::span<const vm::Value>) -> Result<vm::Value> {
      go.wait();
      return vm::Value(int64_t{1});
    };
  }
  std::string error_of(uint32_t wall_ms) {
    const Result<vm::Value> answer = functions_->ask(spec(wall_ms), {}, time_);
    return answer.ok() ? "" : answer.error().message();
  }

  std::promise<void> go_;
  std::shared_future<void> hold_ = go_.get_future().share();
  AskTime time_;
  std::unique_ptr<AppFunctions> functions_ = std::make_unique<AppFunctions>(&kDevice);
};

TEST_F(AppFunctionsTest, AnswersWithWhatItIsGiven) {
  ASSERT_TRUE(
      functions_
          ->provide("price", [](std::span<const vm::Value> given) -> Result<vm::Value> { return given[0]; })
          .ok());
  vm::List arguments;
  arguments.push_back(vm::Value(int64_t{7}));
  const Result<vm::Value> answer = functions_->ask(spec(60'000), std::move(arguments), time_);
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(*answer->get<int64_t>(), 7);
}

TEST_F(AppFunctionsTest, WhatIsThrownIsAnError) {
  ASSERT_TRUE(functions_
                  ->provide("price",
                            [](std::span<const vm::Value>) -> Result<vm::Value> {
                              throw std::runtime_error("no price");
                            })
                  .ok());
  EXPECT_NE(error_of(60'000).find("no price"), std::string::npos);
}

TEST_F(AppFunctionsTest, OneThatHangsIsForsakenAndOutlivesTheOthers) {
  ASSERT_TRUE(functions_->provide("price", hangs()).ok());
  for (int i = 0; i < AppFunctions::kMostForsaken; ++i)
    EXPECT_NE(error_of(20).find("within 20 ms"), std::string::npos);
  EXPECT_NE(error_of(60'000).find("4 calls under way"), std::string::npos);
  functions_.reset();
}

TEST_F(AppFunctionsTest, ThePhaseAndACancelEndTheWaiting) {
  ASSERT_TRUE(functions_->provide("price", hangs()).ok());
  time_.end_us = 1;
  EXPECT_NE(error_of(60'000).find("stopped"), std::string::npos);
  time_.end_us = 0;
  std::thread cancels([this] { time_.cancelled = true; });
  EXPECT_NE(error_of(60'000).find("stopped"), std::string::npos);
  cancels.join();
}

TEST_F(AppFunctionsTest, NothingBeginsOnceItIsClosed) {
  ASSERT_TRUE(functions_->provide("price", hangs()).ok());
  functions_->close();
  EXPECT_NE(error_of(60'000).find("does not provide"), std::string::npos);
  EXPECT_FALSE(functions_->provide("price", hangs()).ok());
}

}  // namespace
}  // namespace walle::container
