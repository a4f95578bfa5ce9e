// How many processors this process may keep busy: affinity mask, then the cgroup's quota; of a given machine
// (base/machine.h) as many as it has.
#include <sched.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <thread>

#include "base/limits.h"
#include "base/machine.h"
#include "base/thread_pool.h"

namespace walle::base {

namespace {
std::string first_line(const std::string& path) {
  // Paths of cgroups in containers have some 150 bytes; a longer line is cut and then not found, which counts
  // as no limit.
  char line[512] = {};
  if (std::FILE* file = std::fopen(path.c_str(), "r")) {
    if (!std::fgets(line, sizeof line, file)) line[0] = 0;
    std::fclose(file);
  }
  return line;
}

// Processors that "quota period" (cgroup v2 cpu.max) allows; 0 for no limit or an unreadable file.
int limit_of(const std::string& text) {
  long long quota = 0, period = 0;
  if (std::sscanf(text.c_str(), "%lld %lld", &quota, &period) != 2 || quota <= 0 || period <= 0) return 0;
  return static_cast<int>(std::clamp<long long>((quota + period - 1) / period, 1, kMaxThreads));
}

int cgroup_limit() {
  // In a container the root of the mount is the container's own group.
  int limit = limit_of(first_line("/sys/fs/cgroup/cpu.max"));
  const std::string own = first_line("/proc/self/cgroup");  // "0::/path" under version 2
  if (own.starts_with("0::/")) {
    std::string path = own.substr(3);
    while (!path.empty() && (path.back() == '\n' || path.back() == '/')) path.pop_back();
    // A group may use no more than each of its parents: the least of them counts.
    while (!path.empty()) {
      const int here = limit_of(first_line("/sys/fs/cgroup" + path + "/cpu.max"));
      if (here > 0) limit = limit > 0 ? std::min(limit, here) : here;
      path.resize(path.rfind('/'));
    }
  }
  if (limit > 0) return limit;
  const std::string quota = first_line("/sys/fs/cgroup/cpu/cpu.cfs_quota_us");  // version 1
  return quota.empty() ? 0
                       : limit_of(quota.substr(0, quota.find('\n')) + " " +
                                  first_line("/sys/fs/cgroup/cpu/cpu.cfs_period_us"));
}
}  // namespace

int available_processors() {
  const Result<const Machine*> given = given_machine();
  return given.ok() && *given ? (*given)->processors : real_processors();
}

int real_processors() {
  static const int quota = cgroup_limit();
  int processors = static_cast<int>(std::thread::hardware_concurrency());
#if defined(__linux__)
  cpu_set_t set;
  CPU_ZERO(&set);
  // Asked each time, unlike the quota: taskset and schedulers change it while the process runs.
  if (::sched_getaffinity(0, sizeof set, &set) == 0) processors = CPU_COUNT(&set);
#endif
  if (quota > 0) processors = std::min(processors, quota);
  return std::max(processors, 1);
}

}  // namespace walle::base
