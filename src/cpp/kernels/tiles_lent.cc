#include "kernels/tiles_lent.h"

#if defined(__linux__) && defined(__x86_64__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace walle::kernels {

bool tiles_lent() {
#if defined(__linux__) && defined(__x86_64__)
  // Documentation/arch/x86/xstate.rst of the kernel: for all threads, those to come included.
  constexpr int kRequestPermission = 0x1023, kTileData = 18;
  static const bool lent = ::syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
  return lent;
#else
  return false;
#endif
}

}  // namespace walle::kernels
