// The cost model: the one place where what kernels count (backends/features.h) becomes time.
//
// time = sum of coefficient * quantity, one row of coefficients per kernel and instruction set; what threads
// share is divided by them. Linear because it can be fitted by non-negative least squares (walle tune fit)
// and read by people; a maximum of arithmetic and traffic fits no better once bytes are told apart by level
// (docs/adr/0018-one-cost-model.md).
//
// Immutable once made, so any thread may ask.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/device_profile.h"
#include "backends/features.h"

namespace walle::search {

// Nanoseconds per unit of each quantity but launches, whose price is one for all kernels.
inline constexpr int kPriced = backends::kQuantities - 1;

struct CostRow {
  std::string_view kernel;
  std::string_view isa;
  std::array<double, kPriced> ns{};
};

// A fitted table, search/tables/*.inc.
struct CostTable {
  std::string_view name;
  // Backend::device() of those it was fitted for, separated by commas; of none: modelled, for machines with
  // its instruction set that no other table lists.
  std::string_view devices;
  std::vector<backends::DeviceProfile> profiles;  // of that machine, one per instruction set
  std::vector<CostRow> rows;
};

// The tables of this build; the first is the one others are derived from, where none was modelled for their
// instruction set.
const std::vector<CostTable>& cost_tables();

// Devices beside the host, by their backends' names, as they were measured.
using DeviceProfiles = std::vector<std::pair<std::string, backends::DeviceProfile>>;

class CostModel {
 public:
  // As fitted.
  explicit CostModel(const CostTable& table, DeviceProfiles devices = {});
  // Derived for another machine: coefficients of arithmetic scale as its arithmetic does, those of bytes as
  // its memories, starts as its steps.
  // `named`: the machine, where the profile was not measured.
  CostModel(const CostTable& table, const backends::DeviceProfile& machine,
            std::string_view named = "a profile", DeviceProfiles devices = {});
  CostModel(const CostModel&) = delete;
  CostModel& operator=(const CostModel&) = delete;

  // Predicted milliseconds of one run by a backend of this name. Finite and positive.
  double ms(const backends::Features& features, std::string_view backend = {}) const;
  // What was measured of a backend's device; nullptr for the host and for those that nobody measured.
  const backends::DeviceProfile* device(std::string_view backend) const;
  // Of a copy between two memories of which nothing was measured, in either direction.
  double copy_ms(int64_t bytes) const;

  const std::string& name() const { return name_; }
  // Changes with every coefficient.
  uint64_t fingerprint() const { return fingerprint_; }

 private:
  const CostRow& row(const backends::Features& features) const;
  void finish();

  std::string name_;
  std::string isa_;            // of a derived model's vector rows, which point to it
  std::vector<CostRow> rows_;  // sorted by kernel, then by instruction set
  CostRow plain_, vector_;     // for kernels that no table knows
  DeviceProfiles devices_;
  uint64_t fingerprint_ = 0;
};

// The first table as it is: for programs that run once, and for tests.
const CostModel& reference_costs();

}  // namespace walle::search
