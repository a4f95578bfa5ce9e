// ProcessorState: a checkpoint of the processor as plain data, and as bytes
// (docs/reference/formats/processor.md): what matching has seen, which tasks there are, and what waits. The
// two files that hold it are a MirroredFile.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "stream/processor/task_firing.h"

namespace walle::stream {

struct StoredTrigger {
  std::string name, text;  // canonical
  uint64_t order = 0;      // of adding, over all tasks
  TriggerStats stats;
};

struct StoredFiring {
  TaskFiring firing;  // its name is below
  std::string trigger_name;
};

struct StoredTask {
  std::string name;
  uint32_t queue = 1;
  WhenFull when_full = WhenFull::coalesce;
  uint64_t newest = 0, settled = 0, dropped = 0, coalesced = 0;
  std::shared_ptr<const LocalTime> local;  // none: the state's
  std::vector<StoredTrigger> triggers;
  std::vector<StoredFiring> waiting;  // in flight or not, in order of number
};

struct ProcessorState {
  bool lost = false;  // a state before this one was lost, and nobody has acknowledged it
  uint64_t seen = 0;  // number of the newest event that was matched
  uint64_t session = 0, page_instance = 0;  // of the newest event that is no timer's
  uint64_t next_order = 0;
  LocalTime local;  // that events were matched with
  std::vector<StoredTask> tasks;
  std::map<std::string, uint64_t> former;  // removed tasks: the numbers that they have used
  std::string snapshot;                    // docs/reference/formats/snapshot.md
};

// One of `waiting`, for others that keep firings as well; the attempt is theirs.
void put_firing(base::ByteWriter& out, const TaskFiring& firing, std::string_view trigger_name);
StoredFiring get_firing(base::ByteReader& in);

std::string encode_state(const ProcessorState& state);
// An error for what encode_state() does not write, and for a version that this one does not know.
Result<ProcessorState> decode_state(std::string_view bytes);

}  // namespace walle::stream
