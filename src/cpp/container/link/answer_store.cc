#include "container/link/answer_store.h"

#include <algorithm>
#include <array>

#include "base/log.h"
#include "base/record_trace.h"
#include "base/trace.h"
#include "container/device/in_callback.h"
#include "container/task/task_version.h"

namespace walle::container {

namespace {
// No task has a name with a slash.
std::string settled_as(const std::string& stream) { return "answers/" + stream; }

Status add_one(const store::TableDecl& decl, int64_t now, const link::AnswerRow& row, store::TableRows& to) {
  std::array<Cell, store::kMaxTableColumns> cells{};
  for (const link::AnswerCell& cell : row) {
    const std::optional<size_t> at = decl.find(cell.column);
    if (!at)
      return argument_error({"column '", cell.column, "' in an answer"}, "a column of the table",
                            {"table '", decl.name, "'"}, "return what task.toml declares");
    cells[*at] = cell.value.cell();
  }
  return store::add_row(decl, now, std::span(cells).first(decl.columns.size()), to);
}
}  // namespace

std::vector<link::AnswerMark> AnswerStore::marks() {
  std::vector<link::AnswerMark> out;
  const Result<std::shared_ptr<DeviceCore>> core = device_.core("tunnel");
  if (!core.ok()) return out;
  for (const TaskInfo& task : (*core)->tasks()) {
    if (task.question.empty()) continue;
    const bool known =
        std::ranges::any_of(out, [&](const link::AnswerMark& m) { return m.stream == task.question; });
    if (!known)
      out.push_back(
          {.stream = task.question, .taken = (*core)->commits().settled(settled_as(task.question))});
  }
  return out;
}

Result<link::AnswerMark> AnswerStore::take(const link::Answer& answer) {
  TakenAnswer answered{.task = answer.task,
                       .stream = answer.stream,
                       .seq = answer.seq,
                       .trace = base::record_trace_id(answer.stream, answer.seq),
                       .error = answer.error,
                       .rows = answer.rows};
  const base::TraceSpan span("answer", answered.trace);
  WALLE_ASSIGN(const std::shared_ptr<DeviceCore> core, device_.core("tunnel"));
  Commits& commits = core->commits();
  const std::string key = settled_as(answer.stream);
  const uint64_t taken = commits.settled(key);
  // Taken before; one before it is lacking; nobody asked. The server hears up to where it got.
  if (answer.number <= taken || answer.after > taken || answer.seq >= commits.outbox().next(answer.stream))
    return link::AnswerMark{.stream = answer.stream, .taken = taken};

  Commit commit{.task = key, .number = answer.number, .rows = {}, .sends = {}, .retry = {}};
  const auto without_rows = [&](const Error& why) {
    answered.error = why.message();
    commit.rows.clear();
  };
  if (Status fits = add_rows(*core, answer, commit); !fits.ok()) without_rows(fits.error());
  Result<uint64_t> frame = commits.commit(commit);
  if (!frame.ok() && frame.error().group() == base::ErrorGroup::argument) {
    without_rows(frame.error());
    frame = commits.commit(commit);
  }
  WALLE_TRY(frame.status());
  // The server forgets it when it hears of it: a power loss must not take it from here.
  WALLE_TRY(commits.sync());
  for (const store::TableRows& rows : commit.rows) answered.stored += rows.rows;
  if (!answered.error.empty())
    base::log(base::LogLevel::warning, "task '" + answered.task + "', answer to " + answered.stream + " " +
                                           std::to_string(answered.seq) + ": " + answered.error);
  if (on_answer_) {
    const InCallback mark;
    on_answer_(answered);
  }
  return link::AnswerMark{.stream = answer.stream, .taken = answer.number};
}

Status AnswerStore::add_rows(DeviceCore& core, const link::Answer& answer, Commit& commit) const {
  if (answer.rows.empty()) return {};
  WALLE_ASSIGN(const TaskInfo task, core.task(answer.task));
  if (task.question != answer.stream)
    return argument_error(
        {"an answer to '", answer.stream, "'"},
        task.question.empty() ? Text("none: the task asks nothing") : Text{"one to '", task.question, "'"},
        {"task '", answer.task, "'"}, "look at which version answers");
  if (task.answers.empty()) return {};
  WALLE_ASSIGN(const store::TableInfo table,
               core.commits().tables().info(table_name(answer.task, task.answers)));
  store::TableRows rows;
  const int64_t now = env_.wall_us();
  for (const link::AnswerRow& row : answer.rows) WALLE_TRY(add_one(table.decl, now, row, rows));
  commit.rows.push_back(std::move(rows));
  return {};
}

}  // namespace walle::container
