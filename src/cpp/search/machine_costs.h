// The cost model of the machine this process runs on: a fitted table where one lists its processor, else the
// first table scaled by a profile, measured once and kept in a file.
#pragma once

#include <memory>

#include "backends/backend.h"
#include "base/env.h"
#include "search/cost_model.h"

namespace walle::search {

// `folder` keeps the profile of machines without a table (docs/reference/formats/machine-profile.md); empty:
// measured by every process. Made once per process and instruction set. Thread-safe.
std::shared_ptr<const CostModel> machine_costs(const backends::Backend& host, base::Env& env,
                                               const std::string& folder);

// The parts of it, for tests.
const CostTable* table_for(std::string_view device);
// The profile in the file, if it is whole and of this machine; else measured, and the file replaced. A file
// that cannot be written is no error: the next process measures again.
backends::DeviceProfile kept_profile(const backends::Backend& host, base::Env& env,
                                     const std::string& folder);
std::string encode_profile(std::string_view machine, const backends::DeviceProfile& profile);
std::optional<backends::DeviceProfile> decode_profile(std::string_view machine, std::string_view bytes);

}  // namespace walle::search
