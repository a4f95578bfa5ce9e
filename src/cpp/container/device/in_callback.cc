#include "container/device/in_callback.h"

namespace walle::container {

namespace {
thread_local bool t_in_callback = false;  // a callback runs no other: one level is all there is
}

InCallback::InCallback() { t_in_callback = true; }

InCallback::~InCallback() { t_in_callback = false; }

bool InCallback::here() { return t_in_callback; }

}  // namespace walle::container
