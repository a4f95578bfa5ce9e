// What a step of a plan is called in errors, profiles and explanations.
#pragma once

#include <string>

#include "search/plan.h"

namespace walle::runtime {

struct StepLabels {
  std::string node;       // the graph's node; of a copy the one whose value it is, or which input
  std::string op;         // "copy" for a copy
  std::string backend;    // of a copy, the one to whose memory or from whose memory it goes
  std::string algorithm;  // of a copy "copy_in" or "copy_out"
};

StepLabels labels_of(const ops::Program& program, const search::Plan& plan, const search::Step& step);

// For errors: "node 'conv1' (Conv)".
std::string step_name(const ops::Program& program, const search::Plan& plan, const search::Step& step);

}  // namespace walle::runtime
