// The cost model of the machine this process runs on: a fitted table where one lists its processor, else one
// that was modelled for its instruction set (ARM64), else the first table scaled by a profile, measured once
// and kept in a file.
#pragma once

#include <memory>

#include "backends/backend.h"
#include "base/env.h"
#include "search/cost_model.h"

namespace walle::search {

// `folder` keeps the profile of machines without a table (docs/reference/formats/machine-profile.md); empty:
// measured by every process. Made once per process, instruction set and given machine. Thread-safe. An
// argument error for a given machine (base/machine.h) whose costs nobody knows. Of `devices`, the backends of
// a session, those with a memory and a profile of their own are measured and kept likewise.
Result<std::shared_ptr<const CostModel>> machine_costs(const backends::Backend& host,
                                                       const std::vector<const backends::Backend*>& devices,
                                                       base::Env& env, const std::string& folder);

// What a given machine may name as its costs: a fitted table, a machine that the first table is scaled for
// (tables/scaled.inc), or "none", a machine without a table, which is measured.
std::vector<std::string_view> cost_names();
// Of a machine of scaled.inc whose kernels use this instruction set; nothing for another name.
std::optional<backends::DeviceProfile> scaled_profile(std::string_view name, std::string_view isa);

// The parts of it, for tests.
const CostTable* table_for(std::string_view device);
const CostTable* table_named(std::string_view name);
// Modelled for the set that this target begins with, "neon (of scalar, neon)"; nullptr for sets that were
// measured. An emulator, which says of itself what no processor does, is never asked.
const CostTable* modelled_table(std::string_view target);
// The profile in the file, if it is whole and of this machine; else measured, and the file replaced. A file
// that cannot be written is no error: the next process measures again. Nothing for a backend without one.
std::optional<backends::DeviceProfile> kept_profile(const backends::Backend& backend, base::Env& env,
                                                    const std::string& folder);
std::string encode_profile(std::string_view machine, const backends::DeviceProfile& profile);
std::optional<backends::DeviceProfile> decode_profile(std::string_view machine, std::string_view bytes);

}  // namespace walle::search
