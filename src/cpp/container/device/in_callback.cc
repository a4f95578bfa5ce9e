#include "container/device/in_callback.h"

namespace walle::container {

namespace {
// A callback may lead to another: a line that a task logs while the device's own answers are told.
thread_local bool t_in_callback = false;
thread_local const void* t_device = nullptr;
}  // namespace

InCallback::InCallback(const void* device) : was_in_(t_in_callback), was_for_(t_device) {
  t_in_callback = true;
  t_device = device;
}

InCallback::~InCallback() {
  t_in_callback = was_in_;
  t_device = was_for_;
}

bool InCallback::here() { return t_in_callback; }
bool InCallback::of(const void* device) { return t_in_callback && (!t_device || t_device == device); }
bool InCallback::at_work_for(const void* device) { return t_in_callback && t_device == device; }

}  // namespace walle::container
