// The core prints nothing: it hands lines to a hook. Default: dropped.
//
// Thread-safe; the hook may be called from any thread and must not call back into the runtime.
#pragma once

#include <string_view>

namespace walle::base {

enum class LogLevel { debug, info, warning, error };

using LogHook = void (*)(void* context, LogLevel level, std::string_view line);

void set_log_hook(LogHook hook, void* context);
void log(LogLevel level, std::string_view line);

}  // namespace walle::base
