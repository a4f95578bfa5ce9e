// AgentThread: the agent's own thread, which pulls when a pull is due, looks after the tasks between, and
// says how things are.
//
// heard(), ask(), poke() and status() come from any thread and never wait for the network. stop() waits for
// the step under way, which it cuts short; whoever owns the tasks stops the agent first. While a version is
// new or a report waits it looks once a second, otherwise once a minute, and at once when poked.
#pragma once

#include <condition_variable>
#include <mutex>

#include "base/loop_thread.h"
#include "link/agent/agent.h"
#include "link/agent/pull_timer.h"
#include "link/agent/renewal.h"

namespace walle::link {

struct AgentStatus {
  std::string transport;
  bool pulling = false;
  uint64_t pulls = 0;           // that ended, since the start
  int64_t pulled_at_us = 0;     // wall time of the newest that worked; 0: none has
  std::string error;            // of the newest pull; empty: it worked
  std::string trouble;          // what keeps reports, a return or a renewal from being done
  std::vector<TaskStep> steps;  // of the newest pull that had a plan
  AgentMemory memory;
};

class AgentThread {
 public:
  // Takes transport and host; opens the agent in the caller's thread, so that what is wrong is the caller's
  // error, and pulls at once.
  static Result<std::unique_ptr<AgentThread>> start(Env& env, std::unique_ptr<Transport> transport,
                                                    std::unique_ptr<AgentHost> host, AgentOptions options,
                                                    PullTimes times = {},
                                                    std::unique_ptr<Renewal> renewal = nullptr);
  ~AgentThread() { stop(); }
  AgentThread(const AgentThread&) = delete;
  AgentThread& operator=(const AgentThread&) = delete;

  // Of an epoch, in a reply's header or in a message that carries the seconds to spread over.
  void heard(uint64_t epoch, uint32_t spread_s = 0);
  void ask();                      // a pull now
  void poke() { thread_.poke(); }  // something happened to a task
  // Until `count` pulls have ended since the start; false: not within that time.
  bool wait_pulls(uint64_t count, int64_t timeout_us);
  AgentStatus status() const;
  // As it travels on requests.
  DeviceHeader header() const;
  void stop();

 private:
  AgentThread(Env& env, std::unique_ptr<Transport> transport, std::unique_ptr<AgentHost> host,
              PullTimes times, std::unique_ptr<Renewal> renewal);
  int64_t step();
  void pull();
  void tell();

  Env& env_;
  std::unique_ptr<Transport> transport_;
  std::unique_ptr<AgentHost> host_;
  std::unique_ptr<Agent> agent_;      // the thread's, once it runs
  std::unique_ptr<Renewal> renewal_;  // the thread's; nullptr: nothing is renewed

  mutable std::mutex lock_;
  std::condition_variable ended_;
  PullTimer timer_;
  AgentStatus status_;
  DeviceHeader header_;
  bool tended_ = false;      // the thread's
  base::LoopThread thread_;  // last: it uses all of the above
};

}  // namespace walle::link
