// A .wtask file with resources: the bytecode container of a task and the files that travel with it (models,
// tables).
//
// The layout is docs/reference/formats/task.md. A task without resources is the bare container ("WVMB").
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/buffer.h"

namespace walle::vm {

struct Resource {
  std::string name;  // relative, with '/' between folders
  Buffer bytes;      // read-only
};

struct TaskFile {
  Buffer code;
  std::vector<Resource> resources;  // sorted by name
};

// Relative, of plain components: no empty one, no "." or "..", no backslash or control character; at most 255
// bytes of UTF-8.
bool valid_resource_name(std::string_view name);

// Windows of `bytes`. A task error for anything that write_task_file() does not write.
Result<TaskFile> read_task_file(const Buffer& bytes);
// An argument error for a bad or repeated name.
Result<std::string> write_task_file(std::string_view code,
                                    std::vector<std::pair<std::string, std::string_view>> resources);

}  // namespace walle::vm
