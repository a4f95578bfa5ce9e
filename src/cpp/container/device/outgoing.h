// Outgoing: what a firing sends through the gate: permits that have set budget aside and leave with the
// commit, or are let go with a firing that failed.
//
// Used by the thread that runs the firing.
#pragma once

#include <string>
#include <vector>

#include "container/device/commits.h"

namespace walle::container {

class Outgoing {
 public:
  // A task that sends in a loop holds so many batches at most.
  static constexpr size_t kMostSends = 256;

  // Batches of the feature `question` are for the cloud's half of the package with this digest; none: "".
  Outgoing(stream::EgressGate& gate, std::string task, uint8_t priority, std::string question,
           std::string package)
      : gate_(gate),
        task_(std::move(task)),
        priority_(priority),
        question_(std::move(question)),
        package_(std::move(package)) {}

  // Whether anything is to leave: no rows are no send, and spend nothing, but what the gate would refuse of
  // any rows of these columns it refuses of none.
  Result<bool> send(const std::string& feature, const stream::TracedBatch& rows);
  std::vector<stream::Permit> take() { return std::exchange(permits_, {}); }
  void forget() { permits_.clear(); }

 private:
  stream::EgressGate& gate_;
  std::string task_;
  uint8_t priority_;
  std::string question_, package_;
  std::vector<stream::Permit> permits_;
};

}  // namespace walle::container
