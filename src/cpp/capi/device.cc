// The C API over container::Device.
#include "walle/device.h"

#include <algorithm>
#include <cstring>

#include "capi/app_function.h"
#include "capi/device_handle.h"
#include "capi/guard.h"
#include "capi/vm_values.h"
#include "stream/event/event_names.h"

namespace container = walle::container;
namespace store = walle::store;
namespace stream = walle::stream;
using walle::Result;
using walle::Status;
using walle::capi::copy_struct;
using walle::capi::guarded;
using walle::capi::null_argument;

// The C structs that are handed out point into these members, which therefore live as long as the list.
struct walle_device_tasks_t {
  std::vector<container::TaskInfo> tasks;
  std::vector<walle_task_info_t> plain;
};

struct walle_device_rows_t {
  store::TableColumns read;
  std::vector<std::string> bytes;  // of a column's texts, a zero behind each
  std::vector<std::vector<walle_text_t>> texts;
  std::vector<std::vector<uint8_t>> present;
  std::vector<walle_column_t> columns;
};

namespace {

using DeviceCore = container::DeviceCore;

Result<container::DeviceOptions> options_of(const walle_device_options_t& given) {
  if (!given.vm_library) return null_argument("vm_library", "walle_device_open");
  container::DeviceOptions options;
  options.vm_library = given.vm_library;
  if (given.workers) options.workers = given.workers;
  if (given.ready_isolates) options.ready_isolates = given.ready_isolates;
  if (given.hot_tasks) options.hot_tasks = given.hot_tasks;
  if (given.cold_after_ms) options.cold_after_us = int64_t{given.cold_after_ms} * 1000;
  if (given.grace_ms) options.grace_ms = given.grace_ms;
  options.background = !given.no_background;
  if (given.key) {
    options.commits.key.assign(static_cast<const char*>(given.key), given.key_bytes);
    options.processor.log.key = options.commits.key;
  }
  if (given.log) {
    options.log = [log = given.log, user = given.log_user](std::string_view task, walle::base::LogLevel level,
                                                           std::string_view line) {
      log(user, std::string(task).c_str(), static_cast<int>(level), line.data(), line.size());
    };
  }
  if (given.app_count && !given.app) return null_argument("app", "walle_device_open");
  for (size_t i = 0; i < given.app_count; ++i) {
    const auto& [name, function, user] = given.app[i];
    if (!name || !function)
      return null_argument(!name ? "app[].name" : "app[].function", "walle_device_open");
    options.app[name] = walle::capi::app_function(function, user);
  }
  return options;
}

// The device of a handle, or why there is none.
Result<std::shared_ptr<DeviceCore>> open_device(const walle_device_t* device, const char* function) {
  if (!device) return null_argument("device", function);
  return device->device->core(function);
}

Result<stream::Value> value_of(const walle_content_t& content, const stream::FieldDecl& field) {
  const walle_vm_value_t& v = content.value;
  switch (v.kind) {
    case WALLE_KIND_INT:
      if (field.type == walle::ColumnType::real) return stream::Value::of(static_cast<double>(v.as.integer));
      return stream::Value::of(v.as.integer);
    case WALLE_KIND_FLOAT: return stream::Value::of(v.as.real);
    case WALLE_KIND_BOOL: return stream::Value::of(v.as.integer != 0);
    case WALLE_KIND_STR:
      if (!v.as.text && v.size != 0) return null_argument("as.text", "walle_device_record");
      return stream::Value::of(std::string_view(v.as.text ? v.as.text : "", v.size));
    case WALLE_KIND_NONE: return stream::Value();
    default: break;
  }
  return walle::argument_error({"kind ", v.kind, " for field '", field.name, "'"},
                               "WALLE_KIND_INT, FLOAT, BOOL, STR or NONE", "walle_device_record",
                               "convert the value");
}

// By position in the declaration; what is not given stays absent.
Result<std::vector<stream::Value>> contents_of(const stream::Catalog& catalog, uint16_t event,
                                               const walle_event_t& given) {
  if (given.count && !given.contents) return null_argument("contents", "walle_device_record");
  const std::vector<stream::FieldDecl>& fields = catalog.events()[event].fields;
  std::vector<stream::Value> values(given.count ? fields.size() : 0);
  for (size_t i = 0; i < given.count; ++i) {
    if (!given.contents[i].field) return null_argument("contents[].field", "walle_device_record");
    WALLE_ASSIGN(const size_t at, stream::field_by_name(catalog, event, given.contents[i].field));
    WALLE_ASSIGN(values[at], value_of(given.contents[i], fields[at]));
  }
  return values;
}

walle_task_info_t plain_info(const container::TaskInfo& info) {
  return {.name = info.name.c_str(),
          .version = info.version.c_str(),
          .status = container::task_status_name(info.status).data(),
          .error = info.error.c_str(),
          .firings = info.firings,
          .failures = info.failures,
          .failures_in_row = info.failures_in_row,
          .hot = info.hot,
          .heap_bytes = info.heap_bytes,
          .lost_workers = info.lost_workers,
          .waiting = info.queue.waiting + info.queue.in_flight,
          .dropped = info.queue.dropped,
          .coalesced = info.queue.coalesced,
          .retries = info.retries,
          .retrying = info.retrying,
          .next_retry = info.next_retry_us};
}

void call_back(walle_device_result_fn callback, void* user, const container::TaskResult& result) {
  const std::string error = result.error ? result.error->text() : std::string();
  const std::string trigger(result.firing.trigger_name);
  std::optional<walle::capi::PlainValue> value;
  if (!result.error) value.emplace(result.value);
  const walle_task_result_t plain = {
      .task = result.task.c_str(),
      .version = result.version.c_str(),
      .number = result.firing.number,
      .trigger = trigger.c_str(),
      .seq = result.firing.seq,
      .ts = result.firing.ts,
      .ok = !result.error,
      .value = value ? &value->plain() : nullptr,
      .error = error.c_str(),
      .phase = result.error ? container::phase_name(result.error->phase).data() : "",
      .rows = result.rows,
      .sends = result.sends,
      .preprocess_us = result.times.preprocess,
      .execute_us = result.times.execute,
      .postprocess_us = result.times.postprocess,
      .waited_us = result.waited_us,
      .attempt = result.firing.attempt,
      .retry_at = result.retry_at_us};
  callback(user, &plain);
}

static_assert(WALLE_COLUMN_INT == static_cast<int>(walle::ColumnType::integer) &&
              WALLE_COLUMN_FLOAT == static_cast<int>(walle::ColumnType::real) &&
              WALLE_COLUMN_BOOL == static_cast<int>(walle::ColumnType::boolean) &&
              WALLE_COLUMN_TEXT == static_cast<int>(walle::ColumnType::text) &&
              WALLE_COLUMN_BYTES == static_cast<int>(walle::ColumnType::bytes));

void copy_texts(const walle::tensor::Runs& runs, std::string& bytes, std::vector<walle_text_t>& texts) {
  bytes.reserve(runs.bytes() + runs.size());  // what texts point to does not move
  for (size_t i = 0; i < runs.size(); ++i) {
    texts.push_back({bytes.data() + bytes.size(), runs[i].size()});
    bytes.append(runs[i]).push_back('\0');
  }
}

// Points into `rows`, which does not move any more.
void describe_columns(walle_device_rows_t& rows) {
  const size_t columns = rows.read.columns.size();
  rows.bytes.resize(columns);
  rows.texts.resize(columns);
  rows.present.resize(columns);
  for (size_t i = 0; i < columns; ++i) {
    const auto& [decl, cells] = rows.read.columns[i];
    rows.present[i] = cells.presence();
    rows.present[i].resize(cells.size(), 1);
    if (walle::tensor::has_bytes(decl.type)) copy_texts(cells.runs(), rows.bytes[i], rows.texts[i]);
    const auto is = [type = decl.type](walle::ColumnType other) { return type == other; };
    rows.columns.push_back({.name = decl.name.c_str(),
                            .type = static_cast<walle_column_type_t>(decl.type),
                            .present = rows.present[i].data(),
                            .ints = is(walle::ColumnType::integer) ? cells.integers().data() : nullptr,
                            .floats = is(walle::ColumnType::real) ? cells.reals().data() : nullptr,
                            .bools = is(walle::ColumnType::boolean) ? cells.booleans().data() : nullptr,
                            .texts = rows.texts[i].empty() ? nullptr : rows.texts[i].data()});
  }
}

}  // namespace

extern "C" {

walle_status_t walle_device_open(const char* path, const walle_device_options_t* options,
                                 walle_device_t** device, walle_error_t* error) {
  return guarded(error, [&]() -> Status {
    if (!path || !device) return null_argument(path ? "device" : "path", "walle_device_open");
    *device = nullptr;
    if (!options) return null_argument("options", "walle_device_open");
    walle_device_options_t given{};
    WALLE_TRY(copy_struct(*options, given, "walle_device_options_t", "walle_device_open"));
    WALLE_ASSIGN(container::DeviceOptions made, options_of(given));
    WALLE_ASSIGN(auto opened, container::Device::open(walle::Env::system(), path, std::move(made)));
    *device = new walle_device_t(std::move(opened));
    return {};
  });
}

walle_status_t walle_device_close(walle_device_t* device, walle_error_t* error) {
  return guarded(error, [&]() -> Status {
    if (!device) return null_argument("device", "walle_device_close");
    WALLE_TRY(device->device->may_end("walle_device_close"));
    device->disconnect();
    return device->device->close();
  });
}

void walle_device_free(walle_device_t* device) { delete device; }

walle_status_t walle_device_declare(walle_device_t* device, const char* event, const walle_field_t* fields,
                                    size_t count, walle_error_t* error) {
  return guarded(error, [&]() -> Status {
    if (!device || !event || (count && !fields))
      return null_argument(!device ? "device" : !event ? "event" : "fields", "walle_device_declare");
    const std::shared_ptr<const stream::Catalog> catalog = device->device->catalog();
    stream::EventDecl declared{.name = event, .kind = stream::EventKind::custom, .fields = {}};
    if (const std::optional<uint16_t> known = catalog->find_event(event))
      declared.kind = catalog->events()[*known].kind;
    for (size_t i = 0; i < count; ++i) {
      if (!fields[i].name) return null_argument("fields[].name", "walle_device_declare");
      if (fields[i].type < WALLE_COLUMN_INT || fields[i].type > WALLE_COLUMN_TEXT ||
          fields[i].sensitivity < WALLE_OPEN || fields[i].sensitivity > WALLE_SECRET)
        return walle::argument_error({"field '", fields[i].name, "'"},
                                     "WALLE_COLUMN_INT, FLOAT, BOOL or TEXT, and a walle_sensitivity_t",
                                     "walle_device_declare", "use the constants of the header");
      declared.fields.push_back({.name = fields[i].name,
                                 .type = static_cast<walle::ColumnType>(fields[i].type),
                                 .sensitivity = static_cast<stream::Sensitivity>(fields[i].sensitivity)});
    }
    return device->device->declare(declared);
  });
}

walle_status_t walle_device_declare_page(walle_device_t* device, const char* page, walle_error_t* error) {
  return guarded(error, [&]() -> Status {
    if (!device || !page) return null_argument(device ? "page" : "device", "walle_device_declare_page");
    return device->device->declare_page(page);
  });
}

walle_status_t walle_device_declare_state(walle_device_t* device, const char* state, walle_error_t* error) {
  return guarded(error, [&]() -> Status {
    if (!device || !state) return null_argument(device ? "state" : "device", "walle_device_declare_state");
    return device->device->declare_state(state);
  });
}

walle_status_t walle_device_record(walle_device_t* device, const walle_event_t* event, uint64_t* seq,
                                   walle_error_t* error) {
  return guarded(error, [&]() -> Status {
    WALLE_ASSIGN(const std::shared_ptr<DeviceCore> open, open_device(device, "walle_device_record"));
    if (!event) return null_argument("event", "walle_device_record");
    walle_event_t given{};
    WALLE_TRY(copy_struct(*event, given, "walle_event_t", "walle_device_record"));
    if (!given.name) return null_argument("event->name", "walle_device_record");
    const std::shared_ptr<const stream::Catalog> catalog = device->device->catalog();
    const int64_t ts = given.ts ? given.ts : walle::Env::system().wall_us();
    WALLE_ASSIGN(stream::Event made, stream::event_by_name(*catalog, given.name, given.page ? given.page : "",
                                                           ts, given.on != 0));
    WALLE_ASSIGN(const std::vector<stream::Value> values, contents_of(*catalog, made.event, given));
    made.contents = values;
    WALLE_ASSIGN(const stream::Event recorded, open->record(made, given.durable != 0));
    if (seq) *seq = recorded.seq;
    return {};
  });
}

walle_status_t walle_device_advance(walle_device_t* device, int64_t now, walle_error_t* error) {
  return guarded(error, [&]() -> Status {
    WALLE_ASSIGN(const std::shared_ptr<DeviceCore> open, open_device(device, "walle_device_advance"));
    WALLE_TRY(open->advance(now ? now : walle::Env::system().wall_us()));
    return open->maintain();
  });
}

walle_status_t walle_device_install(walle_device_t* device, const char* path, walle_error_t* error) {
  return guarded(error, [&]() -> Status {
    if (!device || !path) return null_argument(device ? "path" : "device", "walle_device_install");
    return device->device->install_file(path).status();
  });
}

walle_status_t walle_device_install_data(walle_device_t* device, const void* data, size_t bytes,
                                         walle_error_t* error) {
  return guarded(error, [&]() -> Status {
    if (!device || !data) return null_argument(device ? "data" : "device", "walle_device_install_data");
    return device->device->install(std::string(static_cast<const char*>(data), bytes)).status();
  });
}

walle_status_t walle_device_remove(walle_device_t* device, const char* task, walle_error_t* error) {
  return guarded(error, [&]() -> Status {
    WALLE_ASSIGN(const std::shared_ptr<DeviceCore> open, open_device(device, "walle_device_remove"));
    if (!task) return null_argument("task", "walle_device_remove");
    return open->remove(task);
  });
}

walle_status_t walle_device_set_fact(walle_device_t* device, const char* fact, int holds,
                                     walle_error_t* error) {
  return guarded(error, [&]() -> Status {
    WALLE_ASSIGN(const std::shared_ptr<DeviceCore> open, open_device(device, "walle_device_set_fact"));
    if (!fact) return null_argument("fact", "walle_device_set_fact");
    return open->set_fact(fact, holds != 0);
  });
}

walle_status_t walle_device_set_local_time(walle_device_t* device, const walle_utc_offset_t* offsets,
                                           size_t count, walle_error_t* error) {
  return guarded(error, [&]() -> Status {
    WALLE_ASSIGN(const std::shared_ptr<DeviceCore> open, open_device(device, "walle_device_set_local_time"));
    if (count && !offsets) return null_argument("offsets", "walle_device_set_local_time");
    if (!count) return open->set_local(std::nullopt);
    std::vector<stream::UtcOffset> changes(std::min(count, stream::kMaxOffsetChanges + 1));
    for (size_t i = 0; i < changes.size(); ++i) changes[i] = {offsets[i].from_us, offsets[i].offset_us};
    return open->set_local(stream::LocalTime(offsets[0].offset_us, std::move(changes)));
  });
}

walle_status_t walle_device_tasks(walle_device_t* device, walle_device_tasks_t** tasks,
                                  walle_error_t* error) {
  return guarded(error, [&]() -> Status {
    if (!tasks) return null_argument("tasks", "walle_device_tasks");
    *tasks = nullptr;
    WALLE_ASSIGN(const std::shared_ptr<DeviceCore> open, open_device(device, "walle_device_tasks"));
    auto made = std::make_unique<walle_device_tasks_t>();
    made->tasks = open->tasks();
    std::ranges::transform(made->tasks, std::back_inserter(made->plain), plain_info);
    *tasks = made.release();
    return {};
  });
}

size_t walle_device_tasks_count(const walle_device_tasks_t* tasks) { return tasks ? tasks->plain.size() : 0; }

const walle_task_info_t* walle_device_tasks_at(const walle_device_tasks_t* tasks, size_t index) {
  return tasks && index < tasks->plain.size() ? &tasks->plain[index] : nullptr;
}

void walle_device_tasks_free(walle_device_tasks_t* tasks) { delete tasks; }

walle_status_t walle_device_on_result(walle_device_t* device, walle_device_result_fn callback, void* user,
                                      walle_error_t* error) {
  return guarded(error, [&]() -> Status {
    WALLE_ASSIGN(const std::shared_ptr<DeviceCore> open, open_device(device, "walle_device_on_result"));
    std::function<void(const container::TaskResult&)> call;
    if (callback)
      call = [callback, user](const container::TaskResult& result) { call_back(callback, user, result); };
    open->on_result(std::move(call));
    return {};
  });
}

walle_status_t walle_device_read(walle_device_t* device, const char* task, const char* table, uint64_t from,
                                 uint64_t limit, walle_device_rows_t** rows, walle_error_t* error) {
  return guarded(error, [&]() -> Status {
    if (!device || !task || !table || !rows)
      return null_argument(!device  ? "device"
                           : !task  ? "task"
                           : !table ? "table"
                                    : "rows",
                           "walle_device_read");
    *rows = nullptr;
    auto made = std::make_unique<walle_device_rows_t>();
    WALLE_ASSIGN(made->read, device->device->read(task, table, from, limit ? limit : UINT64_MAX));
    describe_columns(*made);
    *rows = made.release();
    return {};
  });
}

size_t walle_device_rows_count(const walle_device_rows_t* rows) { return rows ? rows->read.rows() : 0; }

const uint64_t* walle_device_rows_numbers(const walle_device_rows_t* rows) {
  return rows ? rows->read.numbers.data() : nullptr;
}

const int64_t* walle_device_rows_times(const walle_device_rows_t* rows) {
  return rows ? rows->read.ts.data() : nullptr;
}

size_t walle_device_rows_columns(const walle_device_rows_t* rows) { return rows ? rows->columns.size() : 0; }

const walle_column_t* walle_device_rows_column(const walle_device_rows_t* rows, size_t index) {
  return rows && index < rows->columns.size() ? &rows->columns[index] : nullptr;
}

const walle_column_t* walle_device_rows_find(const walle_device_rows_t* rows, const char* name) {
  if (!rows || !name) return nullptr;
  const auto at = std::ranges::find_if(
      rows->columns, [name](const walle_column_t& column) { return std::strcmp(column.name, name) == 0; });
  return at != rows->columns.end() ? &*at : nullptr;
}

void walle_device_rows_free(walle_device_rows_t* rows) { delete rows; }

walle_status_t walle_device_wait(walle_device_t* device, uint32_t timeout_ms, int* idle,
                                 walle_error_t* error) {
  return guarded(error, [&]() -> Status {
    WALLE_ASSIGN(const std::shared_ptr<DeviceCore> open, open_device(device, "walle_device_wait"));
    WALLE_TRY(device->device->may_wait("walle_device_wait"));
    const bool done = open->wait_idle(int64_t{timeout_ms} * 1000);
    if (idle) *idle = done;
    return {};
  });
}

}  // extern "C"
