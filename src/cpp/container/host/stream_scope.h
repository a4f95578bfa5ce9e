// StreamScope: what walle.stream of one task works on: the device's log, the way out, and the rows that
// graphs have made for the script, which it holds by number. Rows never become the script's own: what leaves
// is what a graph gave (stream/operators/traced_batch.h).
//
// Whoever takes the isolate makes one, puts it into kStreamSlot, keeps it as long as the task is hot, and
// calls begin() before each firing. Used by the isolate's own thread; the log is shared, and reading it
// beside its appender is what it is made for.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "stream/graph/graph.h"
#include "tensor/buffer.h"

namespace walle::container {

class StreamScope {
 public:
  // Lets rows through the gate into what the running firing leaves behind, or says why not; nothing has left
  // before the firing's results are committed. False: there were no rows, and nothing will. None:
  // walle.stream.send refuses.
  using Send = std::function<Result<bool>(const std::string& feature, const stream::TracedBatch& rows)>;

  static constexpr size_t kMaxRows = 65'536;            // that one call reads
  static constexpr size_t kMaxCells = size_t{1} << 20;  // held at once, 40 MB beside their texts
  static constexpr size_t kMaxHeld = 64;                // batches at once
  static constexpr size_t kMaxText = size_t{16} << 20;  // bytes of texts that one call reads

  // `log` outlives the scope. Privacy accounts of the task's graphs are called "TASK/ACCOUNT" in it.
  StreamScope(stream::EventLog& log, std::string task, Send send = nullptr)
      : log_(log), task_(std::move(task)), send_(std::move(send)) {}

  // A new firing: the rows of the one before are gone.
  void begin() {
    held_.clear();
    cells_ = 0;
  }

  stream::EventLog& log() const { return log_; }
  const std::string& task() const { return task_; }
  Result<bool> send(const std::string& feature, const stream::TracedBatch& rows) const;

  // Rows of events, bounded as above.
  Result<stream::TracedBatch> read(const std::vector<std::string>& fields, const stream::EventQuery& query);

  Result<int64_t> hold(stream::TracedBatch rows);
  Result<const stream::TracedBatch*> rows(int64_t handle) const;
  bool release(int64_t handle);

  // The graph in resource `name`, verified once however often the task asks for it.
  Result<const stream::GraphSpec*> graph(const std::string& name, const Buffer& bytes);
  // A model that graphs encode with: made ready once and kept while the task is hot.
  Result<std::shared_ptr<stream::Encoder>> encoder(const std::string& name, const Buffer& model);

 private:
  stream::EventLog& log_;
  std::string task_;
  Send send_;
  std::map<int64_t, stream::TracedBatch> held_;
  int64_t next_ = 1;
  size_t cells_ = 0;                                 // of what is held
  std::map<std::string, stream::GraphSpec> graphs_;  // by resource
  std::map<std::string, std::shared_ptr<stream::Encoder>> encoders_;
};

}  // namespace walle::container
