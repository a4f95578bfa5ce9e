// The machine as an input. Blocks, panels, shares of threads, prices and plans follow what a machine has, so
// on one machine tests see one set of them; a given machine takes the place of the real one.
//
// Given by the environment variable WALLE_MACHINE (docs/reference/environment.md), which is read once per
// process, or by a MachineScope. It narrows what kernels may use and never widens it. Where nothing is
// given, nothing here costs more than one load.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"

namespace walle::base {

struct CpuFeatures;

struct Machine {
  std::string name;  // as it was given
  int64_t l1_bytes = 0;
  int64_t l2_bytes = 0;
  int64_t l3_bytes = 0;  // 0: none
  int processors = 0;
  std::string isa;    // what it can do, as a set and what stands beside it ("avx2+avx_vnni"); no more is used
  std::string costs;  // a name of search/machine_costs.h; empty: those of the real machine
};

// base/machines.inc.
std::span<const Machine> machine_profiles();

// "zen5", "zen5,cores=1" or "l1=48K,l2=1M,l3=none,cores=4,isa=avx2,costs=zen3": a profile's name, figures
// that replace its own, or both. What neither says is the real machine's.
Result<Machine> machine_from(std::string_view text);

// The one given, null for none; the error of a WALLE_MACHINE that cannot be understood, under which no
// backend is ready.
Result<const Machine*> given_machine();
// What it has, null for none.
const CpuFeatures* given_features();

// In one line, the same for machines of the same figures; empty for none.
std::string given_machine_text();

// For tests: the machine is this one until the scope ends; scopes nest. One thread makes them, while no other
// plans or computes, and whatever is planned in a scope runs in it: workspaces follow the caches.
class MachineScope {
 public:
  explicit MachineScope(const Machine& machine);
  ~MachineScope();
  MachineScope(const MachineScope&) = delete;
  MachineScope& operator=(const MachineScope&) = delete;

  struct Given;

 private:
  std::unique_ptr<Given> given_;
  const Given* before_;
};

}  // namespace walle::base
