// ModelConstants: what plans made of a model's constants, folded and packed; one per model, shared by its
// sessions.
//
// Thread-safe.
#pragma once

#include "runtime/folded_constants.h"
#include "runtime/prepared_constants.h"

namespace walle::runtime {

struct ModelConstants {
  PreparedConstants prepared;
  FoldedConstants folded;

  // All that no plan uses, whatever it was made of: what another plan would pack again.
  void drop_unheld() {
    prepared.drop_unheld();
    forget_unused();
  }

  // What was made for plans that are gone goes as well.
  void forget_unused() {
    const std::scoped_lock lock(folded.mutex(), prepared.mutex());
    HandleCount counts;
    folded.count(counts);
    prepared.count(counts);
    prepared.drop_unused(counts);
    folded.drop_unused(counts);
  }
};

}  // namespace walle::runtime
