// ResultsReader: the result tables of a device's folder for whoever only reads, beside the device that writes
// or without one.
#pragma once

#include "store/sealed_env.h"
#include "store/tables.h"

namespace walle::container {

class ResultsReader {
 public:
  // As the folder is at this moment: segments, and what the journal has behind them. Nothing is written.
  static Result<std::unique_ptr<ResultsReader>> open(Env& env, const std::string& dir,
                                                     const std::string& key = {});

  store::Tables& tables() { return *tables_; }

 private:
  explicit ResultsReader(std::unique_ptr<store::SealedEnv> sealed) : sealed_(std::move(sealed)) {}

  std::unique_ptr<store::SealedEnv> sealed_;  // with a key
  std::unique_ptr<store::Tables> tables_;
};

}  // namespace walle::container
