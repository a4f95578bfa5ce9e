// walle.stream: the events a task was triggered by, native graphs over them, and the way out for what graphs
// gave. What tasks see as classes is lib/walle/stream.py.
#include "base/nearest_name.h"
#include "container/host/bundle_resource.h"
#include "container/host/host_calls.h"
#include "container/host/slots.h"
#include "container/host/stream_columns.h"
#include "container/host/stream_scope.h"
#include "vm/convert.h"

namespace walle::container::host {

namespace {

using stream::EventQuery;
using Names = std::vector<std::string>;

Error wrong_type(Text given, Text expected, Text next) {
  return argument_error(given, expected, "walle.stream", next).of_kind(base::ErrorKind::wrong_type);
}

Result<StreamScope*> scope_of(const TaskContext& context) {
  if (StreamScope* scope = context.room(kStreamSlot)) return scope;
  return resource_error("a task without a stream", "a device, whose log it can read", "walle.stream",
                        "run the task on a device, or give its isolate a log");
}

// A number of the firing: an entry of the dict that the task was called with.
Result<int64_t> number_in(const wvm_value& firing, std::string_view key) {
  for (const auto& [name, value] : vm::entries_of(firing)) {
    if (name != key) continue;
    if (value.kind == WVM_INT) return value.as.integer;
    return wrong_type({"firing['", key, "'], which is no int"}, "an int",
                      "pass the event that the task was called with");
  }
  return argument_error({"a firing without '", key, "'"}, "seq, start_ts, session and page_instance",
                        "walle.stream", "pass the event that the task was called with")
      .of_kind(base::ErrorKind::no_such_key);
}

Result<uint64_t> event_in(const wvm_value& firing, std::string_view key) {
  WALLE_ASSIGN(const int64_t number, number_in(firing, key));
  if (number >= 0) return static_cast<uint64_t>(number);
  return argument_error({"firing['", key, "'] of ", number}, "a number of an event", "walle.stream",
                        "pass the event that the task was called with");
}

Result<EventQuery> range_of(const wvm_value& range, uint64_t seq) {
  const auto items = vm::items_of(range);
  if (items.size() != 2 || items[0].kind != WVM_INT || items[1].kind != WVM_INT)
    return wrong_type("a time range that is not two ints", "[from_ts, to_ts] in microseconds, both included",
                      "name both times");
  return EventQuery{.to = seq, .from_ts = items[0].as.integer, .to_ts = items[1].as.integer};
}

// Nothing behind the event that fired: what a firing reads is the same in every replay.
Result<EventQuery> query_of(HostArgs args, size_t firing_at, size_t of_at) {
  const wvm_value& firing = args[firing_at];
  if (firing.kind != WVM_MAP)
    return wrong_type("a firing that is no dict", "the event that the task was called with",
                      "pass main's argument");
  WALLE_ASSIGN(const uint64_t seq, event_in(firing, "seq"));
  if (of_at < args.size() && args[of_at].kind == WVM_LIST) return range_of(args[of_at], seq);
  std::string of = "match";
  if (vm::has_arg(args, of_at)) {
    WALLE_ASSIGN(of, vm::text_arg(args, of_at));
  }
  if (of == "match") {
    WALLE_ASSIGN(const int64_t start, number_in(firing, "start_ts"));
    EventQuery match = EventQuery::match(start, seq);
    // By number where it is known: two events of one microsecond are two.
    const Result<uint64_t> first = event_in(firing, "start_seq");
    if (first.ok()) match.from = *first;
    return match;
  }
  if (of == "session") {
    WALLE_ASSIGN(const uint64_t session, event_in(firing, "session"));
    return EventQuery::of_session(session, seq);
  }
  if (of == "page") {
    WALLE_ASSIGN(const uint64_t instance, event_in(firing, "page_instance"));
    // 0 is "outside any page", in which no events are.
    return instance == 0 ? EventQuery{.from = 1, .to = 0} : EventQuery::of_page(instance, seq);
  }
  const Names known{"match", "session", "page"};
  return argument_error({"of='", of, "'"}, "'match', 'session', 'page' or [from_ts, to_ts]", "walle.stream",
                        base::did_you_mean(of, known, "choose one"));
}

Result<Names> names_arg(HostArgs args, size_t at) {
  Names out;
  if (!vm::has_arg(args, at)) return out;
  if (args[at].kind != WVM_LIST)
    return wrong_type("fields that are no list", "a list of str", "name them: fields=['item']");
  for (const wvm_value& item : vm::items_of(args[at])) {
    if (item.kind != WVM_STR)
      return wrong_type("a field that is no str", "a list of str", "name them: fields=['item']");
    out.emplace_back(item.as.text, item.size);
  }
  return out;
}

// What graphs of a task name: files that travel with it, accounts of its own.
class TaskResources final : public stream::GraphResources {
 public:
  TaskResources(const TaskContext& context, StreamScope& scope) : context_(context), scope_(scope) {}
  Result<std::shared_ptr<stream::Encoder>> encoder(const std::string& name) override {
    WALLE_ASSIGN(const vm::Resource* resource, resource_of(context_, name));
    return scope_.encoder(resource->name, resource->bytes);
  }
  Result<stream::PrivacyAccount> account(const std::string& name, double limit) override {
    return stream::PrivacyAccount(scope_.log().log_state(), scope_.task() + "/" + name, limit);
  }

 private:
  const TaskContext& context_;
  StreamScope& scope_;
};

// A resource's name, or the bytes themselves.
Result<stream::GraphSpec> graph_of(const TaskContext& context, StreamScope& scope, const wvm_value& given) {
  if (given.kind == WVM_STR) {
    WALLE_ASSIGN(const vm::Resource* resource, resource_of(context, {given.as.text, given.size}));
    WALLE_ASSIGN(const stream::GraphSpec* spec, scope.graph(resource->name, resource->bytes));
    return *spec;
  }
  if (given.kind == WVM_BYTES) return stream::parse_graph({given.as.text, given.size});
  if (given.kind == WVM_BUFFER) {
    const Buffer bytes = vm::bytes_of(given.as.tensor);
    return stream::parse_graph({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
  return wrong_type("a graph that is neither str nor bytes",
                    "a resource's name, or the bytes of Graph.to_bytes()",
                    "put the graph's file into the task's folder and name it");
}

// Rows of an earlier run by their handle, or the events of a firing.
Result<stream::TracedBatch> source_of(HostArgs args, StreamScope& scope, const stream::GraphSpec& spec) {
  if (args[1].kind == WVM_INT) {
    WALLE_ASSIGN(const stream::TracedBatch* rows, scope.rows(args[1].as.integer));
    return *rows;
  }
  WALLE_ASSIGN(const EventQuery query, query_of(args, 1, 2));
  WALLE_ASSIGN(const Names given, names_arg(args, 3));
  return scope.read(vm::has_arg(args, 3) ? given : stream::fields_read(spec), query);
}

}  // namespace

Result<Value> stream_events_call(TaskContext& context, HostArgs args) {
  WALLE_ASSIGN(StreamScope * scope, scope_of(context));
  WALLE_ASSIGN(const EventQuery query, query_of(args, 0, 1));
  WALLE_ASSIGN(const Names fields, names_arg(args, 2));
  WALLE_ASSIGN(const stream::TracedBatch rows, scope->read(fields, query));
  return columns_value(rows.rows());
}

Result<Value> stream_run_call(TaskContext& context, HostArgs args) {
  WALLE_ASSIGN(StreamScope * scope, scope_of(context));
  WALLE_ASSIGN(const stream::GraphSpec spec, graph_of(context, *scope, args[0]));
  WALLE_ASSIGN(const stream::TracedBatch rows, source_of(args, *scope, spec));
  TaskResources resources(context, *scope);
  WALLE_ASSIGN(stream::Graph graph, stream::Graph::make(spec, resources));
  WALLE_ASSIGN(stream::TracedBatch made, graph.run(rows));
  WALLE_ASSIGN(const int64_t handle, scope->hold(std::move(made)));
  return Value(handle);
}

Result<Value> stream_columns_call(TaskContext& context, HostArgs args) {
  WALLE_ASSIGN(const StreamScope* scope, scope_of(context));
  WALLE_ASSIGN(const int64_t handle, vm::int_arg(args, 0));
  WALLE_ASSIGN(const stream::TracedBatch* rows, scope->rows(handle));
  return columns_value(rows->rows());
}

Result<Value> stream_size_call(TaskContext& context, HostArgs args) {
  WALLE_ASSIGN(const StreamScope* scope, scope_of(context));
  WALLE_ASSIGN(const int64_t handle, vm::int_arg(args, 0));
  WALLE_ASSIGN(const stream::TracedBatch* rows, scope->rows(handle));
  return Value(static_cast<int64_t>(rows->rows().rows()));
}

Result<Value> stream_close_call(TaskContext& context, HostArgs args) {
  WALLE_ASSIGN(StreamScope * scope, scope_of(context));
  WALLE_ASSIGN(const int64_t handle, vm::int_arg(args, 0));
  return Value(scope->release(handle));
}

Result<Value> stream_send_call(TaskContext& context, HostArgs args) {
  WALLE_ASSIGN(const StreamScope* scope, scope_of(context));
  WALLE_ASSIGN(const std::string_view feature, vm::text_arg(args, 0));
  WALLE_ASSIGN(const int64_t handle, vm::int_arg(args, 1));
  WALLE_ASSIGN(const stream::TracedBatch* rows, scope->rows(handle));
  Result<bool> sent = scope->send(std::string(feature), *rows);
  if (sent.ok()) return Value(*sent);
  // The gate says no: a task's fault, and to the script what a closed file is.
  Error error = sent.take_error();
  return error.group() == base::ErrorGroup::task ? std::move(error).of_kind(base::ErrorKind::not_permitted)
                                                 : std::move(error);
}

}  // namespace walle::container::host
