// The header serves C++ as well.
#include <walle/vm.h>

#include <cstdio>
#include <memory>

int main() {
  walle_model_t* raw = nullptr;
  walle_error_t error{};
  const walle_status_t status = walle_model_load("absent.walle", &raw, &error);
  const std::unique_ptr<walle_model_t, void (*)(walle_model_t*)> model(raw, walle_model_free);
  std::printf("walle %s: %s\n", walle_version(), error.message);
  return status == WALLE_RESOURCE && !model ? 0 : 1;
}
