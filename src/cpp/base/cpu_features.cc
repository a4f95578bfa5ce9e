#include "base/cpu_features.h"

#include "base/machine.h"

namespace walle::base {

const CpuFeatures& cpu_features() {
  const CpuFeatures* given = given_features();
  return given ? *given : detected_cpu_features();
}

}  // namespace walle::base
