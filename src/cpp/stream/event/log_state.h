// LogState: what a log knows that its events cannot say: how far each named reader has come and how much of
// each privacy account is spent. In two copies (store/state_file.h); a change is durable when it returns.
//
// Fails closed. A log that has been there without its state - both copies damaged, or removed beside a
// catalogue that tells of them - does not start at nothing: accounts refuse to be spent from and readers are
// told, now and at every open, until somebody acknowledges the loss and says what is known to be spent.
//
// Readers may be asked for from any thread; whoever spends from an account holds spending().
#pragma once

#include <mutex>

#include "store/state_file.h"

namespace walle::stream {

class LogState {
 public:
  // A catalogue is written behind the first state: with one there, a state that is missing was lost.
  static Result<std::unique_ptr<LogState>> open(Env& env, const std::string& dir, bool has_catalog,
                                                bool read_only = false);

  // 0: never read. An error of a reader whose place was lost.
  Result<uint64_t> cursor(const std::string& reader) const;
  Status set_cursor(const std::string& reader, uint64_t seq);
  std::vector<std::string> readers() const;
  // What has been spent. An error after a loss.
  Result<double> spent(const std::string& account) const;
  Status set_spent(const std::string& account, double epsilon);
  // Held from asking what is spent to setting it: tasks on several threads share one log.
  std::mutex& spending() { return spending_; }

  // Accounts and places were lost, and nobody has acknowledged it yet.
  bool lost() const { return unwritten_loss_ || file_->get(kLost).has_value(); }
  // One copy was damaged or missing at the open; nothing is lost.
  bool mended() const { return file_->found() == store::StateFile::Found::mended; }
  // From now on accounts hold `spent`, others nothing, and readers without a place have never read.
  Status acknowledge_loss(const std::map<std::string, double>& spent);

  // For what other parts of a log must not forget, under prefixes of their own.
  store::StateFile& file() { return *file_; }

 private:
  static constexpr const char* kLost = "lost";

  explicit LogState(std::unique_ptr<store::StateFile> file) : file_(std::move(file)) {}
  Status begin(bool has_catalog, bool read_only);

  std::unique_ptr<store::StateFile> file_;
  std::mutex spending_;
  bool unwritten_loss_ = false;  // found by who only reads
};

}  // namespace walle::stream
