#include "container/host/stream_scope.h"

#include "container/host/encode_rows.h"
#include "container/host/engine_models.h"
#include "container/host/engine_stack.h"

namespace walle::container {

namespace {

// The model's first input and output: rows of floats in, rows of floats out.
class EngineEncoder final : public stream::Encoder {
 public:
  static Result<std::shared_ptr<stream::Encoder>> make(const std::string& name, const Buffer& model) {
    auto out = std::make_shared<EngineEncoder>();
    WALLE_ASSIGN(const int64_t handle, with_stack([&] { return out->models_.load(name, model, 1); }));
    WALLE_ASSIGN(out->session_, out->models_.find(handle));
    return std::shared_ptr<stream::Encoder>(std::move(out));
  }

  Status run(std::span<const float> in, size_t rows, Floats& out) override {
    WALLE_ASSIGN(std::vector<ir::RuntimeValue> inputs, encoder_inputs(in, rows));
    WALLE_ASSIGN(const auto results, with_stack([&] { return session_->run(std::move(inputs)); }));
    return take_codes(results, out);
  }

 private:
  EngineModels models_;  // of its own: what the script loads and closes is another matter
  runtime::Session* session_ = nullptr;
};

size_t cells_of(const stream::TracedBatch& rows) {
  return rows.rows().rows() * (rows.rows().columns.size() + 1);
}

}  // namespace

Result<bool> StreamScope::send(const std::string& feature, const stream::TracedBatch& rows) const {
  if (send_) return send_(feature, rows);
  return task_error({"feature '", feature, "'"}, "a device with an egress gate", "walle.stream.send",
                    "run the task on a device that has one")
      .of_kind(base::ErrorKind::not_permitted);
}

Result<stream::TracedBatch> StreamScope::read(const std::vector<std::string>& fields,
                                              const stream::EventQuery& query) {
  // Time, event, page, session and page instance are there always.
  const size_t most = std::min(kMaxRows, kMaxCells / (fields.size() + 5));
  // One more than may be: whether there are more is known only by the next.
  WALLE_ASSIGN(stream::TracedBatch rows,
               stream::TracedBatch::of_log(log_, fields, query, static_cast<int64_t>(most) + 1, kMaxText));
  if (rows.rows().rows() <= most) return rows;
  return resource_error({"more than ", most, " events"},
                        {"at most so many at once with ", fields.size(), " fields"}, "walle.stream",
                        "ask for a shorter range: of=[from_ts, to_ts]");
}

Result<int64_t> StreamScope::hold(stream::TracedBatch rows) {
  const size_t cells = cells_of(rows);
  if (held_.size() == kMaxHeld || cells > kMaxCells - cells_)
    return resource_error({held_.size(), " batches of ", cells_, " cells held, and one more of ", cells},
                          {"at most ", kMaxHeld, " batches and ", kMaxCells, " cells"}, "walle.stream",
                          "give up rows that are done with: rows.close()");
  cells_ += cells;
  held_.emplace(next_, std::move(rows));
  return next_++;
}

Result<const stream::TracedBatch*> StreamScope::rows(int64_t handle) const {
  const auto found = held_.find(handle);
  if (found != held_.end()) return &found->second;
  return argument_error("rows that are closed, or of an earlier firing", "rows of this firing",
                        "walle.stream", "run the graph again");
}

bool StreamScope::release(int64_t handle) {
  const auto found = held_.find(handle);
  if (found == held_.end()) return false;
  cells_ -= cells_of(found->second);
  held_.erase(found);
  return true;
}

Result<const stream::GraphSpec*> StreamScope::graph(const std::string& name, const Buffer& bytes) {
  const auto found = graphs_.find(name);
  if (found != graphs_.end()) return &found->second;
  auto parsed = stream::parse_graph({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  if (!parsed.ok()) {
    Error error = parsed.take_error();
    error.within({"resource '", name, "'"});
    return error;
  }
  return &graphs_.emplace(name, std::move(*parsed)).first->second;
}

Result<std::shared_ptr<stream::Encoder>> StreamScope::encoder(const std::string& name, const Buffer& model) {
  const auto found = encoders_.find(name);
  if (found != encoders_.end()) return found->second;
  WALLE_ASSIGN(auto made, EngineEncoder::make(name, model));
  encoders_.emplace(name, made);
  return made;
}

}  // namespace walle::container
