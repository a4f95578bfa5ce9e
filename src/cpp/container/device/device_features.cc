// What an app asks of a task's features: as of now.
#include "container/device/device_core.h"

namespace walle::container {

Result<vm::List> DeviceCore::features(const std::string& task, const std::string& name,
                                      const vm::List& keys) {
  WALLE_TRY(check_open());
  const Runner runner = find(task);
  if (runner == nullptr || runner->retired()) return unknown(task);
  return feature_values(runner->features(), processor_->log(), name, keys,
                        processor_->newest(rooms_->now_us()), "Device.features");
}

}  // namespace walle::container
