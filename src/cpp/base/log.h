// The core prints nothing: it hands lines to a hook. Default: dropped.
//
// Thread-safe. The hook may be called from any thread, with locks of the runtime held and one line at a time:
// it must neither call back into the runtime nor wait for anybody who may (Python's lock, above all).
#pragma once

#include <cstdint>
#include <string_view>

namespace walle::base {

// `off` is a threshold alone; no line has it.
enum class LogLevel : uint8_t { debug, info, warning, error, off };

using LogHook = void (*)(void* context, LogLevel level, std::string_view line);

// When it returns, no call of the former hook is under way.
void set_log_hook(LogHook hook, void* context);

// Lines below `least` are dropped; at first those below warning. One threshold for the process.
void set_log_level(LogLevel least);

// Whether a line would reach a hook: asked before composing one is work.
bool log_enabled(LogLevel level);

void log(LogLevel level, std::string_view line);

}  // namespace walle::base
