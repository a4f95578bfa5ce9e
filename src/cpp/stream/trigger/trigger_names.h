// TriggerNames: every name a trigger uses: what a catalogue must declare before the trigger compiles against
// it.
#pragma once

#include <map>
#include <set>
#include <string>

#include "stream/trigger/trigger_spec.h"

namespace walle::stream {

struct TriggerNames {
  std::set<std::string> events, pages, states;
  // With the type their literals suggest. Numbers are f64, which literals of both kinds compare with; a field
  // that is only asked for (`exists`) counts as a number, and the key of `by` as text.
  std::map<std::string, ColumnType> fields;
};

TriggerNames names_in(const TriggerSpec& spec);

}  // namespace walle::stream
