#include "stream/event/log_state.h"

#include <cmath>
#include <limits>

#include "base/log.h"

namespace walle::stream {

namespace {
using Changes = store::StateFile::Changes;

constexpr const char* kStateFile = "/state.wals";
const std::string kCursor = "cursor/";
const std::string kEpsilon = "epsilon/";

Error lost_error(Text what) {
  return resource_error({what, " was lost: both copies of the log's state are damaged or gone"},
                        "a state that can be believed", "event log",
                        "acknowledge the loss and say what has been spent (acknowledge_state_loss)");
}
}  // namespace

Result<std::unique_ptr<LogState>> LogState::open(Env& env, const std::string& dir, bool has_catalog,
                                                 bool read_only) {
  WALLE_ASSIGN(auto file, store::StateFile::open(env, dir + kStateFile, read_only));
  const bool there = file->readable();
  auto made = std::unique_ptr<LogState>(new LogState(std::move(file)));
  if (!there) WALLE_TRY(made->begin(has_catalog, read_only));
  if (made->lost())
    base::log(base::LogLevel::warning, "event log '" + dir +
                                           "': accounts and readers' places were lost; accounts stay closed "
                                           "until somebody acknowledges it");
  return made;
}

// Nothing that can be believed is there: a new log, or a loss.
Status LogState::begin(bool has_catalog, bool read_only) {
  Changes changes;
  const bool damaged = file_->found() == store::StateFile::Found::lost;
  if (damaged || has_catalog) changes[kLost] = "";
  unwritten_loss_ = read_only && changes.contains(kLost);
  if (read_only) return {};
  return changes.empty() ? file_->create() : file_->apply(changes);
}

Result<uint64_t> LogState::cursor(const std::string& reader) const {
  if (const auto seq = file_->number<uint64_t>(kCursor + reader)) return *seq;
  if (lost()) return lost_error({"the place of reader '", reader, "'"});
  return uint64_t{0};
}

Status LogState::set_cursor(const std::string& reader, uint64_t seq) {
  return file_->apply({{kCursor + reader, store::put_number(seq)}});
}

std::vector<std::string> LogState::readers() const {
  std::vector<std::string> out = file_->keys(kCursor);
  for (std::string& name : out) name.erase(0, kCursor.size());
  return out;
}

Result<double> LogState::spent(const std::string& account) const {
  if (lost()) return lost_error({"what privacy account '", account, "' has spent"});
  const double epsilon = file_->number<double>(kEpsilon + account).value_or(0);
  // Nothing here writes such a number: whoever did is not helped by it.
  return epsilon >= 0 ? epsilon : std::numeric_limits<double>::infinity();
}

Status LogState::set_spent(const std::string& account, double epsilon) {
  return file_->apply({{kEpsilon + account, store::put_number(epsilon)}});
}

Status LogState::acknowledge_loss(const std::map<std::string, double>& spent) {
  if (!lost())
    return argument_error("an acknowledgement", "a loss that nobody has acknowledged", "event log",
                          "ask report() first");
  Changes changes{{kLost, std::nullopt}};
  for (const auto& [account, epsilon] : spent) {
    if (!std::isfinite(epsilon) || epsilon < 0)
      return argument_error({"epsilon ", epsilon, " spent of account '", account, "'"},
                            "a finite number of at least 0", "acknowledged loss", "correct the number");
    changes[kEpsilon + account] = store::put_number(epsilon);
  }
  return file_->apply(changes);
}

}  // namespace walle::stream
