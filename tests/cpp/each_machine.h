// The same check on every machine: as the one that runs the tests is, and as each of base/machines.inc.
//
// WALLE_MACHINE=<name of the profile>, which a failure's trace tells, runs everything else as that machine.
#pragma once

#include <string>

#include <gtest/gtest.h>

#include "base/machine.h"

namespace walle {

// Stops at the first machine that fails: a hundred more lines would say nothing else.
template <class Check>
void on_each_machine(Check check) {
  check();
  for (const base::Machine& machine : base::machine_profiles()) {
    if (::testing::Test::HasFailure()) return;
    SCOPED_TRACE("WALLE_MACHINE=" + machine.name);
    const base::MachineScope scope(machine);
    check();
  }
}

}  // namespace walle
