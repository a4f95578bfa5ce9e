// Triggers that are to count what the log holds already: the past is matched for them alone, once.
#include "stream/processor/processor_parts.h"

namespace walle::stream {

namespace {
// What the past completes, in its order.
class PastFirings final : public FiringSink {
 public:
  explicit PastFirings(const Catalog& catalog) : catalog_(catalog) {}

  void name(uint16_t there, const TaskTable::Owner& owner) {
    if (owners_.size() <= there) owners_.resize(there + size_t{1});
    owners_[there] = owner;
  }
  void step(Matcher& past, const Event& e) {
    places_.begin(e);
    past.step(e, *this);
    places_.end(e, catalog_);
  }
  void fired(const Firing& f, const MatchPlace& place) override {
    all_.push_back(places_.place(f, place, owners_[f.trigger]));
  }
  const std::vector<TaskFiring>& all() const { return all_; }

 private:
  const Catalog& catalog_;
  FiringPlaces places_;
  std::vector<TaskTable::Owner> owners_;  // by the past matcher's number
  std::vector<TaskFiring> all_;
};
}  // namespace

Status Processor::Parts::add_past(Task& task, const std::vector<TaskTrigger*>& fresh, bool deliver) {
  Matcher& matcher = table->matcher();
  const std::unique_ptr<Matcher> past = matcher.for_past();
  PastFirings firings(log->catalog());
  std::vector<Matcher::PastTrigger> pairs;
  for (const TaskTrigger* t : fresh) {
    WALLE_ASSIGN(const uint16_t there, past->add(t->compiled));
    pairs.push_back({.here = t->id, .past = there});
    firings.name(there, table->owner(t->id));
  }
  const uint64_t newest = seen;
  WALLE_TRY(log->read(0, [&](const Event& e) {
    if (e.seq > newest) return false;
    firings.step(*past, e);
    return true;
  }));
  WALLE_TRY(matcher.take_past(*past, pairs));
  if (!deliver) return {};
  const std::lock_guard lock(queues);
  for (TaskFiring f : firings.all()) {
    f.number = ++task.newest;
    task.queue.push(f);
    ready.add(task.name);
  }
  return {};
}

}  // namespace walle::stream
