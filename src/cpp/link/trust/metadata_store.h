// MetadataStore: the metadata a device believes, one file per role, as the server sent it: <folder>/<encoded
// role>.json.
//
// Each write is whole and durable or did not happen (base/env.h). Nothing here is believed because it lies
// here but the root: the rest is verified again at every start. One owner at a time; not synchronised.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/env.h"

namespace walle::link {

class MetadataStore {
 public:
  // Creates the folder.
  static Result<MetadataStore> open(Env& env, std::string folder);

  // nullopt where there is none, where it cannot be read, or where it is larger than `most` bytes.
  std::optional<std::string> read(std::string_view role, uint64_t most) const;
  Status write(std::string_view role, std::string_view bytes);
  Status remove(std::string_view role);

  std::string path(std::string_view role) const;

 private:
  MetadataStore(Env& env, std::string folder) : env_(&env), folder_(std::move(folder)) {}

  Env* env_;
  std::string folder_;
};

}  // namespace walle::link
