// TaskFile: a .wtask file with resources: the bytecode container of a task and the files that travel with it
// (models, tables).
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
  std::vector<Resource> sources;    // the Python text, under its file's name; sorted
};

// Parts whose name begins so are sources. A task's folder has no such file: hidden ones are left out.
inline constexpr std::string_view kSourceFolder = ".source/";

// Line `number` (from 1) without the blanks around it; empty where the text has no such line, and at most 200
// bytes of it.
std::string line_of(std::string_view text, int number);

// Windows of `bytes`. A task error for anything that write_task_file() does not write.
Result<TaskFile> read_task_file(const Buffer& bytes);
// An argument error for a bad or repeated name.
Result<std::string> write_task_file(std::string_view code,
                                    std::vector<std::pair<std::string, std::string_view>> resources);

}  // namespace walle::vm
