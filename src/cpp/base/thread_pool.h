// The one thread pool of the process, shared fairly by every session that runs.
//
// parallel_for may be called from any number of threads at once. The caller always
// works on its own job, so a job never waits for another one to finish; helpers take
// one task at a time from the job that has had the fewest.
#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>

namespace walle::base {

// A reference to a callable void(int64_t task), valid for one call; no allocation.
class TaskRef {
 public:
  template <class Fn>
    requires(!std::is_same_v<std::remove_cvref_t<Fn>, TaskRef>)
  TaskRef(Fn&& fn)  // NOLINT: implicit on purpose
      : object_(const_cast<void*>(static_cast<const void*>(std::addressof(fn)))),
        call_(
            [](void* object, int64_t task) { (*static_cast<std::remove_reference_t<Fn>*>(object))(task); }) {}
  void operator()(int64_t task) const { call_(object_, task); }

 private:
  void* object_;
  void (*call_)(void*, int64_t);
};

// Runs fn(0) .. fn(tasks - 1) on at most `threads` threads (1: the caller alone, in order) and returns when
// all are done.
void parallel_for(int64_t tasks, int threads, TaskRef fn);

// Processors this process may use (affinity and cgroup quota considered), or those of a given machine
// (base/machine.h), which may be more or fewer.
int available_processors();
int real_processors();

}  // namespace walle::base
