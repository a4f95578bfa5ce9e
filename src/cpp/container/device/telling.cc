#include "container/device/telling.h"

namespace walle::container {

namespace {
thread_local bool t_telling = false;  // a callback runs no other: one level is all there is
}

Telling::Telling() { t_telling = true; }

Telling::~Telling() { t_telling = false; }

bool Telling::here() { return t_telling; }

}  // namespace walle::container
