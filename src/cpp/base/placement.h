// Keeps a thread that is woken off the processor of the thread that wakes it.
//
// Linux wakes a thread on its waker's processor unless it finds an idle one, and in a virtual machine a
// processor that idles does not count: its halt looks like preemption by the host (available_idle_cpu asks
// vcpu_is_preempted). Caller and helper then share one processor while the other one idles, in turns too
// short for the load balancer. Two of three bursts of runs after a pause of 70 ms went so (Linux 6.18, two
// processors): DIN of 64 rows on two threads took 2.7 ms, 2.3 on one, 1.3 on two processors. Two system calls
// per wake are about 2 us, the wake itself 5 to 20. Rejected: helpers that spin from one burst to the next (a
// whole core of heat), helpers pinned for good (a pinned helper meets its caller sooner or later, and other
// programs always), steering only those that parked where the caller is (they are as often woken there from
// elsewhere).
//
// Threads: park() and woken() belong to the thread that parks, wake() to any that wakes it; all three are
// called under the lock that guards the parking. Between wake() and woken() the thread may not run on the
// waker's processor; outside of that, where it may run is untouched. Without Linux, or where the system
// refuses, nothing is done.
#pragma once

#if defined(__linux__)
#include <sched.h>
#include <sys/types.h>
#endif

namespace walle::base {

class Placement {
 public:
  void park();
  void wake();
  void woken();

 private:
#if defined(__linux__)
  pid_t thread_ = 0;
  bool steered_ = false;
  cpu_set_t allowed_{};  // what it may use outside of a wake; meaningful while steered_
#endif
};

}  // namespace walle::base
