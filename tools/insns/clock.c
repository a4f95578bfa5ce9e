// Time as instructions: preloaded into a program under counter.c, it makes CLOCK_MONOTONIC say how many
// instructions the program has begun, times INSNS_NS, as nanoseconds. Whatever measures with that clock
// (std::chrono::steady_clock, time.perf_counter, a runtime's own profile, our profile) then measures
// instructions, and changes in nothing for it. Other clocks are the system's.
//
// Deadlines of condition variables are no longer the system's either: for programs that wait for nothing.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const volatile uint64_t* count;
static uint64_t ns = 1;

__attribute__((constructor)) static void open_count(void) {
  const char* page = getenv("INSNS_PAGE");
  const char* scale = getenv("INSNS_NS");
  const int file = page ? open(page, O_RDONLY | O_CLOEXEC) : -1;
  if (file < 0) return;
  void* mapped = mmap(NULL, sizeof *count, PROT_READ, MAP_SHARED, file, 0);
  close(file);
  if (mapped == MAP_FAILED) return;
  if (scale) ns = strtoull(scale, NULL, 10);
  count = mapped;
}

int clock_gettime(clockid_t id, struct timespec* to) {
  if (id != CLOCK_MONOTONIC || !count) return (int)syscall(SYS_clock_gettime, id, to);
  const uint64_t now = *count * ns;
  to->tv_sec = (time_t)(now / 1000000000u);
  to->tv_nsec = (long)(now % 1000000000u);
  return 0;
}
