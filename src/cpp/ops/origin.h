// Origin: the name of the graph node a program node came from. A decomposition makes many nodes of one name
// (an LSTM several for each time step), so they share it. Immutable; copied freely between threads.
#pragma once

#include <memory>
#include <string>

namespace walle::ops {

class Origin {
 public:
  Origin() = default;
  Origin(std::string name)
      : name_(std::make_shared<const std::string>(std::move(name))) {}  // NOLINT: implicit on purpose
  Origin(const char* name) : Origin(std::string(name)) {}               // NOLINT: implicit on purpose

  const std::string& text() const {
    static const std::string none;
    return name_ ? *name_ : none;
  }

 private:
  std::shared_ptr<const std::string> name_;
};

}  // namespace walle::ops
