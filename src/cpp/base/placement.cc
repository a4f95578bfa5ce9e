#include "base/placement.h"

#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace walle::base {

#if defined(__linux__)

void Placement::park() {
  thread_ = static_cast<pid_t>(syscall(SYS_gettid));  // gettid() is not in every libc
  steered_ = false;
}

void Placement::wake() {
  const int here = sched_getcpu();
  if (steered_ || here < 0 || here >= CPU_SETSIZE) return;
  if (sched_getaffinity(thread_, sizeof allowed_, &allowed_) != 0) return;  // more than 1024 processors
  cpu_set_t others = allowed_;
  CPU_CLR(static_cast<size_t>(here), &others);
  if (CPU_COUNT(&others) == 0 || CPU_EQUAL(&others, &allowed_)) return;
  steered_ = sched_setaffinity(thread_, sizeof others, &others) == 0;
}

void Placement::woken() {
  if (!steered_) return;
  steered_ = false;
  sched_setaffinity(thread_, sizeof allowed_, &allowed_);
}

#else

void Placement::park() {}
void Placement::wake() {}
void Placement::woken() {}

#endif

}  // namespace walle::base
