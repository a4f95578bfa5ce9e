#include "link/agent/agent_thread.h"

#include <algorithm>
#include <chrono>
#include <random>

#include "base/log.h"

namespace walle::link {

namespace {
constexpr int64_t kBusyUs = 1'000'000, kIdleUs = 60'000'000;

// Not of the clock alone: devices that get power back together would draw the same numbers.
uint64_t some_seed() {
  std::random_device device;
  return uint64_t{device()} << 32 | device();
}

PullEnd end_of(const Pull& pull) {
  if (pull.settled) return PullEnd::settled;
  const bool failed = std::ranges::any_of(
      pull.steps, [](const TaskStep& step) { return step.what == TaskStep::What::later; });
  return failed ? PullEnd::failed : PullEnd::waits;
}

std::string first_error(const Pull& pull) {
  for (const TaskStep& step : pull.steps) {
    if (step.what == TaskStep::What::later) return "task '" + step.task + "': " + step.error;
  }
  return {};
}
}  // namespace

AgentThread::AgentThread(Env& env, std::unique_ptr<Transport> transport, std::unique_ptr<AgentHost> host,
                         PullTimes times, std::unique_ptr<Renewal> renewal)
    : env_(env),
      transport_(std::move(transport)),
      host_(std::move(host)),
      renewal_(std::move(renewal)),
      timer_(some_seed(), times, env.steady_us()),
      thread_({.name = "agent",
               .step = [this] { return step(); },
               .cut =
                   [this] {
                     transport_->cancel();
                     host_->cancel();
                   }}) {}

Result<std::unique_ptr<AgentThread>> AgentThread::start(Env& env, std::unique_ptr<Transport> transport,
                                                        std::unique_ptr<AgentHost> host, AgentOptions options,
                                                        PullTimes times, std::unique_ptr<Renewal> renewal) {
  auto out = std::unique_ptr<AgentThread>(
      new AgentThread(env, std::move(transport), std::move(host), times, std::move(renewal)));
  WALLE_ASSIGN(out->agent_, Agent::open(env, *out->transport_, *out->host_, std::move(options)));
  out->status_.transport = out->transport_->name();
  out->tell();
  out->thread_.start();
  return out;
}

void AgentThread::heard(uint64_t epoch, uint32_t spread_s) {
  {
    const std::lock_guard guard(lock_);
    timer_.heard(epoch, env_.steady_us(), spread_s);
  }
  poke();
}

void AgentThread::ask() {
  {
    const std::lock_guard guard(lock_);
    timer_.ask(env_.steady_us());
  }
  poke();
}

bool AgentThread::wait_pulls(uint64_t count, int64_t timeout_us) {
  std::unique_lock guard(lock_);
  return ended_.wait_for(guard, std::chrono::microseconds(std::max<int64_t>(timeout_us, 0)),
                         [&] { return status_.pulls >= count; });
}

AgentStatus AgentThread::status() const {
  const std::lock_guard guard(lock_);
  return status_;
}

DeviceHeader AgentThread::header() const {
  const std::lock_guard guard(lock_);
  return header_;
}

void AgentThread::stop() {
  // Where a transport or a host stops its own agent the thread ends behind the call, and whoever waits
  // closes.
  if (thread_.stop()) (void)agent_->close().ok();  // a disk that is full costs a count
}

void AgentThread::tell() {
  const std::lock_guard guard(lock_);
  status_.memory = agent_->memory();
  status_.trouble = agent_->trouble();
  if (status_.trouble.empty() && renewal_) status_.trouble = renewal_->trouble();
  // What ends because the process does is no trouble of anybody's.
  if (tended_ && !thread_.stopping()) agent_->note(status_.error, status_.trouble);
  header_ = agent_->header();
}

void AgentThread::pull() {
  {
    const std::lock_guard guard(lock_);
    status_.pulling = true;
    timer_.begins();
  }
  Result<Pull> pulled = agent_->pull();
  const int64_t now = env_.steady_us();
  const std::lock_guard guard(lock_);
  status_.pulling = false;
  ++status_.pulls;
  const PullEnd end = pulled.ok() ? end_of(*pulled) : PullEnd::failed;
  status_.error = pulled.ok() ? first_error(*pulled) : pulled.error().message();
  if (end == PullEnd::settled) status_.pulled_at_us = env_.wall_us();
  if (pulled.ok()) status_.steps = std::move(pulled->steps);
  status_.memory = agent_->memory();
  header_ = agent_->header();
  timer_.pulled(end, agent_->memory().epoch, now, pulled.ok() ? pulled->wait_s * base::kUsPerSecond : 0);
  if (end == PullEnd::failed && !thread_.stopping())
    base::log(base::LogLevel::warning, "a pull did not end as it should: " + status_.error);
  ended_.notify_all();
}

int64_t AgentThread::step() {
  // First how they fare: what fired before this is no crash loop, whatever becomes of the pull.
  if (!std::exchange(tended_, true)) (void)agent_->tend();
  bool due = false;
  {
    const std::lock_guard guard(lock_);
    due = timer_.due_us() <= env_.steady_us();
  }
  if (due) pull();
  const bool busy = agent_->tend();
  if (renewal_) renewal_->step(*transport_);
  tell();
  const std::lock_guard guard(lock_);
  const int64_t wait = std::min(timer_.due_us() - env_.steady_us(), busy ? kBusyUs : kIdleUs);
  return renewal_ ? std::min(wait, renewal_->due_in_us()) : wait;
}

}  // namespace walle::link
