// Slots: whose state lies where in a task's context (vm/context.h): one slot for each module of host calls
// that keeps something for a task.
//
// Set by whoever takes the isolate, but for the engine's, which its first load() makes.
#pragma once

#include "vm/context.h"

namespace walle::container {

class TaskState;     // container/host/task_state.h
class EngineModels;  // container/host/engine_models.h
class FeatureScope;  // features that it looks up: walle.features
class FiringScope;   // what the running firing reads and leaves: walle.results
struct ParamScope;   // the values of walle.params that the running firing began with
class TimerScope;    // what it sets and cancels: walle.timers
class RecordScope;   // events that it records: walle.record
class StreamScope;   // what the running firing may read of the stream: walle.stream
class AppScope;      // what it asks the application: walle.app

inline constexpr vm::Slot<TaskState> kKvSlot{0};
inline constexpr vm::Slot<EngineModels> kEngineSlot{1};
inline constexpr vm::Slot<FiringScope> kResultsSlot{2};
inline constexpr vm::Slot<StreamScope> kStreamSlot{3};
inline constexpr vm::Slot<ParamScope> kParamsSlot{4};
inline constexpr vm::Slot<TimerScope> kTimersSlot{5};
inline constexpr vm::Slot<RecordScope> kRecordSlot{6};
inline constexpr vm::Slot<AppScope> kAppSlot{7};
inline constexpr vm::Slot<FeatureScope> kFeaturesSlot{8};

}  // namespace walle::container
