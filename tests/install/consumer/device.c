/* An application that embeds tasks and owns no Python: `consumer_device VM_LIBRARY FOLDER BUNDLE NEWER`.
 * Installs a compiled task, records events, reads what came of them, opens the folder again, and replaces the
 * task. Without arguments: checks that wrong calls are refused. Prints one line per promise kept. */
#include <stdio.h>
#include <string.h>
#include <walle/device.h>

static int bad;

static void promise(int kept, const char* what) {
  printf("%s  %s\n", kept ? "ok" : "FAILED", what);
  if (!kept) bad = 1;
}

/* For calls that must not fail: says why one did. */
static int fine(walle_status_t status, const walle_error_t* error) {
  if (status != WALLE_OK) printf("        %d: %s\n", (int)status, error->message);
  return status == WALLE_OK;
}

static void refuses_mistakes(void) {
  walle_error_t error;
  walle_device_t* device = NULL;
  walle_device_rows_t* rows = NULL;
  walle_device_options_t options;
  memset(&options, 0, sizeof(options));
  options.struct_size = sizeof(options);
  promise(walle_device_open("x", NULL, &device, &error) == WALLE_ARGUMENT && device == NULL,
          "a device without options is refused");
  promise(walle_device_open("x", &options, &device, &error) == WALLE_ARGUMENT &&
              strstr(error.message, "vm_library") != NULL,
          "the error names the library that is missing");
  options.vm_library = "x";
  options.app_count = 1;
  promise(walle_device_open("x", &options, &device, &error) == WALLE_ARGUMENT &&
              strstr(error.message, "app") != NULL,
          "so does it functions that are missing");
  promise(walle_device_record(NULL, NULL, NULL, &error) == WALLE_ARGUMENT, "an event for NULL is refused");
  promise(walle_device_read(NULL, "t", "r", 0, 0, &rows, NULL) == WALLE_ARGUMENT, "rows of NULL are refused");
  promise(walle_device_rows_count(NULL) == 0 && walle_device_rows_column(NULL, 0) == NULL &&
              walle_device_tasks_at(NULL, 0) == NULL && walle_device_losses_at(NULL, 0) == NULL,
          "there is nothing in NULL");
  walle_device_free(NULL);
  walle_device_rows_free(NULL);
  walle_device_tasks_free(NULL);
  walle_device_losses_free(NULL);
}

typedef struct told_t {
  int calls, good;
  int64_t sum; /* of the values that came back */
} told_t;

/* main(event) returns {"price": ..., "name": ...}. Calls of one task come one after the other. */
static void on_result(void* user, const walle_task_result_t* result) {
  told_t* told = (told_t*)user;
  size_t i;
  ++told->calls;
  if (!result->ok || strcmp(result->task, "shop") != 0 || result->number != (uint64_t)told->calls) return;
  ++told->good;
  for (i = 0; result->value && result->value->kind == WALLE_KIND_MAP && i < result->value->size; ++i) {
    const walle_vm_value_t* key = &result->value->as.items[2 * i];
    if (strcmp(key->as.text, "price") == 0) told->sum += key[1].as.integer;
  }
}

static int buy(walle_device_t* device, int64_t price, const char* name, uint64_t* seq, walle_error_t* error) {
  walle_content_t contents[2];
  walle_event_t event;
  memset(&event, 0, sizeof(event));
  memset(contents, 0, sizeof(contents));
  contents[0].field = "price";
  contents[0].value.kind = WALLE_KIND_INT;
  contents[0].value.as.integer = price;
  contents[1].field = "name";
  contents[1].value.kind = WALLE_KIND_STR;
  contents[1].value.as.text = name;
  contents[1].value.size = strlen(name);
  event.struct_size = sizeof(event);
  event.name = "buy";
  event.contents = contents;
  event.count = 2;
  return fine(walle_device_record(device, &event, seq, error), error);
}

typedef struct rates_t {
  walle_device_t* device; /* NULL: not open yet */
  int refused;            /* asking the task again from its own call was */
} rates_t;

/* walle.app.rate(of): half of it, but for 3. */
static void rate(void* user, const walle_vm_value_t* arguments, size_t count, walle_app_answer_t* answer) {
  rates_t* rates = (rates_t*)user;
  walle_error_t error;
  walle_vm_value_t value;
  walle_vm_result_t* result = NULL;
  memset(&value, 0, sizeof value);
  if (walle_device_call(rates->device, "shop", "discount", NULL, 0, 0, &result, &error) == WALLE_ARGUMENT)
    rates->refused = 1;
  value.kind = WALLE_KIND_FLOAT;
  value.as.real = (double)arguments[0].as.integer / 2;
  if (count != 1 || arguments[0].as.integer == 3)
    walle_app_fail(answer, "no rate of 3", &error);
  else
    walle_app_return(answer, &value, &error);
}

/* Answers nothing. */
static void silent(void* user, const walle_vm_value_t* arguments, size_t count, walle_app_answer_t* answer) {
  (void)user;
  (void)arguments;
  (void)count;
  (void)answer;
}

static rates_t rates;
static const walle_app_function_t functions[] = {{"rate", rate, &rates}};

static walle_device_t* open_device(char** arguments, walle_error_t* error) {
  walle_device_options_t options;
  walle_device_t* device = NULL;
  memset(&options, 0, sizeof(options));
  options.struct_size = sizeof(options);
  options.vm_library = arguments[1];
  options.app = functions;
  options.app_count = 1;
  promise(fine(walle_device_open(arguments[2], &options, &device, error), error), "the folder is a device");
  return device;
}

/* Asks the task for what its [call] offers. */
static void asks(walle_device_t* device) {
  walle_error_t error;
  walle_vm_value_t arguments[2];
  walle_vm_result_t* result = NULL;
  float rates[2] = {0.5f, 0.25f};
  walle_vm_buffer_t* buffer = NULL;
  walle_vm_tensor_t tensor;
  memset(arguments, 0, sizeof arguments);
  memset(&tensor, 0, sizeof tensor);
  promise(fine(walle_vm_buffer_wrap(rates, sizeof rates, 0, NULL, NULL, &buffer, &error), &error),
          "memory is lent");
  tensor.dtype = WALLE_FLOAT32;
  tensor.rank = 1;
  tensor.shape[0] = 2;
  tensor.buffer = buffer;
  arguments[0].kind = WALLE_KIND_FLOAT;
  arguments[0].as.real = 100;
  arguments[1].kind = WALLE_KIND_TENSOR;
  arguments[1].as.tensor = &tensor;
  promise(fine(walle_device_call(device, "shop", "taxed", arguments, 2, 10, &result, &error), &error) &&
              walle_vm_result_value(result)->as.real == 175,
          "the task answers");
  walle_vm_result_free(result);
  promise(walle_device_call(device, "shop", "taxed", arguments, 1, 0, &result, &error) == WALLE_ARGUMENT &&
              result == NULL && strstr(error.message, "float, tensor") != NULL,
          "other arguments are refused");
  promise(walle_device_call(device, "shop", "absent", NULL, 0, 0, &result, &error) == WALLE_ARGUMENT,
          "and other functions");
  walle_vm_buffer_free(buffer);
}

static double discount(walle_device_t* device) {
  walle_error_t error;
  walle_vm_result_t* result = NULL;
  double out = -1;
  if (fine(walle_device_call(device, "shop", "discount", NULL, 0, 10, &result, &error), &error))
    out = walle_vm_result_value(result)->as.real;
  walle_vm_result_free(result);
  return out;
}

/* A name and its value, as walle_device_set_params() takes them. */
static void sets_parameters(walle_device_t* device) {
  walle_error_t error;
  walle_vm_value_t map, items[2];
  memset(&map, 0, sizeof map);
  memset(items, 0, sizeof items);
  items[0].kind = WALLE_KIND_STR;
  items[0].as.text = "discount";
  items[0].size = strlen("discount");
  items[1].kind = WALLE_KIND_FLOAT;
  items[1].as.real = 0.25;
  map.kind = WALLE_KIND_MAP;
  map.as.items = items;
  map.size = 1;
  promise(discount(device) == 0.5, "a parameter has its default");
  promise(fine(walle_device_set_params(device, "shop", &map, &error), &error) && discount(device) == 0.25,
          "and then what is set");
  items[1].as.real = 0.8;
  promise(walle_device_set_params(device, "shop", &map, &error) == WALLE_ARGUMENT &&
              strstr(error.message, "discount") != NULL && discount(device) == 0.25,
          "a value beyond its most is refused");
  items[0].as.text = "discoun";
  items[0].size = strlen("discoun");
  promise(walle_device_set_params(device, "shop", &map, &error) == WALLE_ARGUMENT &&
              strstr(error.message, "discount") != NULL,
          "so is another name, and the near one named");
  promise(walle_device_set_params(device, "shop", &items[1], &error) == WALLE_ARGUMENT &&
              walle_device_set_params(device, "shop", NULL, &error) == WALLE_ARGUMENT,
          "and what is no map");
}

/* What the task says of walle.app.rate(of). */
static walle_status_t rated(walle_device_t* device, int64_t of, double* out, walle_error_t* error) {
  walle_vm_value_t argument;
  walle_vm_result_t* result = NULL;
  walle_status_t status;
  memset(&argument, 0, sizeof argument);
  argument.kind = WALLE_KIND_INT;
  argument.as.integer = of;
  status = walle_device_call(device, "shop", "rated", &argument, 1, 10, &result, error);
  if (status == WALLE_OK) *out = walle_vm_result_value(result)->as.real;
  walle_vm_result_free(result);
  return status;
}

/* Functions that the task asks of this program. */
static void is_asked(walle_device_t* device) {
  walle_error_t error;
  double out = 0;
  rates.device = device;
  promise(fine(rated(device, 5, &out, &error), &error) && out == 2.5, "the task asks the application");
  promise(rates.refused, "which cannot ask the task meanwhile");
  promise(rated(device, 3, &out, &error) == WALLE_TASK && strstr(error.message, "no rate of 3") != NULL &&
              strstr(error.message, "walle.app.rate") != NULL,
          "what fails there fails in the task, by name");
  promise(fine(walle_device_provide(device, "rate", silent, NULL, &error), &error) &&
              rated(device, 5, &out, &error) == WALLE_TASK && strstr(error.message, "type none") != NULL,
          "another one answers nothing, which is no float");
  promise(fine(walle_device_provide(device, "rate", NULL, NULL, &error), &error) &&
              rated(device, 5, &out, &error) == WALLE_TASK && strstr(error.message, "'rate'") != NULL,
          "and one that is not there any more is refused by name");
  promise(walle_device_provide(device, "no name", rate, NULL, &error) == WALLE_ARGUMENT &&
              walle_device_provide(device, NULL, rate, NULL, &error) == WALLE_ARGUMENT &&
              walle_device_provide(NULL, "rate", rate, NULL, &error) == WALLE_ARGUMENT &&
              walle_app_return(NULL, NULL, &error) == WALLE_ARGUMENT &&
              walle_app_fail(NULL, "", &error) == WALLE_ARGUMENT,
          "wrong ones are refused");
}

/* Of the prices 1 to 10 the odd ones and the even ones, the newest three of each. */
static void looks_features_up(walle_device_t* device) {
  walle_error_t error;
  walle_vm_result_t* result = NULL;
  const walle_vm_value_t* values;
  walle_vm_value_t keys, items[2];
  memset(&keys, 0, sizeof keys);
  memset(items, 0, sizeof items);
  items[0].kind = items[1].kind = WALLE_KIND_STR;
  items[0].as.text = "even";
  items[1].as.text = "none";
  items[0].size = items[1].size = 4;
  keys.kind = WALLE_KIND_LIST;
  keys.as.items = items;
  keys.size = 2;
  promise(fine(walle_device_features(device, "shop", "spent", &keys, &result, &error), &error),
          "features are looked up");
  values = result ? walle_vm_result_value(result) : NULL;
  promise(values && values->kind == WALLE_KIND_LIST && values->size == 2 &&
              values->as.items[0].kind == WALLE_KIND_INT && values->as.items[0].as.integer == 6 + 8 + 10 &&
              values->as.items[1].kind == WALLE_KIND_NONE,
          "for each key, in their order");
  walle_vm_result_free(result);
  promise(walle_device_features(device, "shop", "spend", &keys, &result, &error) == WALLE_ARGUMENT &&
              strstr(error.message, "spent") != NULL && result == NULL &&
              walle_device_features(device, "shop", "spent", items, &result, &error) == WALLE_ARGUMENT &&
              walle_device_features(device, "shop", "spent", NULL, &result, &error) == WALLE_ARGUMENT,
          "another name, and what is no list, are refused");
}

static void records_and_reads(char** arguments) {
  static const walle_field_t fields[] = {{"price", WALLE_COLUMN_INT, WALLE_OPEN},
                                         {"name", WALLE_COLUMN_TEXT, WALLE_PERSONAL}};
  static const walle_utc_offset_t tokyo = {0, 9 * INT64_C(3600000000)};
  walle_error_t error;
  walle_device_rows_t* rows = NULL;
  walle_device_tasks_t* tasks = NULL;
  const walle_column_t *price, *name;
  told_t told = {0, 0, 0};
  uint64_t seq = 0;
  int idle = 0, i;
  walle_device_t* device = open_device(arguments, &error);
  if (device == NULL) return;
  promise(fine(walle_device_declare(device, "buy", fields, 2, &error), &error), "an event is declared");
  promise(fine(walle_device_install(device, arguments[3], &error), &error), "a task is installed");
  promise(fine(walle_device_on_result(device, on_result, &told, &error), &error), "results are asked for");
  for (i = 1; i <= 10; ++i) {
    if (!buy(device, i, i % 2 ? "odd" : "even", &seq, &error)) bad = 1;
  }
  promise(seq >= 10, "events are numbered");
  promise(fine(walle_device_wait(device, 30000, &idle, &error), &error) && idle, "the tasks are done");
  promise(told.calls == 10 && told.good == 10 && told.sum == 55, "every firing told what it came to");
  promise(fine(walle_device_read(device, "shop", "sales", 0, 0, &rows, &error), &error) &&
              walle_device_rows_count(rows) == 10 && walle_device_rows_columns(rows) == 2,
          "every firing left a row");
  price = walle_device_rows_find(rows, "price");
  name = walle_device_rows_find(rows, "name");
  promise(price && price->type == WALLE_COLUMN_INT && price->present[9] && price->ints[9] == 10 &&
              walle_device_rows_numbers(rows)[9] == 10 && walle_device_rows_times(rows)[9] > 0,
          "numbers are in columns");
  promise(name && name->type == WALLE_COLUMN_TEXT && name->texts[0].size == 3 &&
              memcmp(name->texts[0].data, "odd", 4) == 0,
          "texts are, too");
  promise(walle_device_rows_find(rows, "absent") == NULL, "there are no other columns");
  walle_device_rows_free(rows);
  promise(fine(walle_device_read(device, "shop", "sales", 9, 1, &rows, &error), &error) &&
              walle_device_rows_count(rows) == 1 && walle_device_rows_numbers(rows)[0] == 9,
          "a reader goes on where it was");
  walle_device_rows_free(rows);
  promise(walle_device_read(device, "shop", "sale", 0, 0, &rows, &error) == WALLE_ARGUMENT && rows == NULL &&
              strstr(error.message, "sales") != NULL,
          "an unknown table is refused, and the near one named");
  promise(fine(walle_device_tasks(device, &tasks, &error), &error) && walle_device_tasks_count(tasks) == 1 &&
              strcmp(walle_device_tasks_at(tasks, 0)->name, "shop") == 0 &&
              walle_device_tasks_at(tasks, 0)->firings == 10,
          "the device knows its task");
  walle_device_tasks_free(tasks);
  asks(device);
  sets_parameters(device);
  is_asked(device);
  looks_features_up(device);
  promise(fine(walle_device_set_fact(device, "charging", 1, &error), &error), "a fact is set");
  promise(fine(walle_device_set_local_time(device, &tokyo, 1, &error), &error), "local time is set");
  promise(fine(walle_device_set_local_time(device, NULL, 0, &error), &error), "and is the host's again");
  promise(
      fine(walle_device_close(device, &error), &error) && fine(walle_device_close(device, &error), &error),
      "the device is closed");
  promise(walle_device_install(device, arguments[3], &error) == WALLE_ARGUMENT, "and says so afterwards");
  walle_device_free(device);
}

/* Both copies of the outbox hold something else: told at every open until it is acknowledged. */
static void hears_of_losses(char** arguments) {
  static const char* const copies[] = {"outbox.wals", "outbox.wals.mirror"};
  walle_error_t error;
  walle_device_losses_t* losses = NULL;
  walle_device_t* device;
  int i;
  for (i = 0; i < 2; ++i) {
    char path[4096];
    FILE* file;
    snprintf(path, sizeof path, "%s/outbox/%s", arguments[2], copies[i]);
    file = fopen(path, "wb");
    promise(file != NULL && fputs("nothing of ours", file) >= 0 && fclose(file) == 0, "a copy is damaged");
  }
  for (i = 0; i < 2; ++i) {
    const walle_loss_t* loss;
    device = open_device(arguments, &error);
    if (device == NULL) return;
    promise(fine(walle_device_losses(device, 1, &losses, &error), &error) &&
                walle_device_losses_count(losses) == 1 && walle_device_losses_at(losses, 1) == NULL,
            "the loss is told");
    loss = walle_device_losses_at(losses, 0);
    promise(loss && strcmp(loss->what, "sends") == 0 && strcmp(loss->kind, "manifest") == 0 && !loss->exact &&
                strstr(loss->cause, "outbox") != NULL,
            "and what it was");
    walle_device_losses_free(losses);
    if (i == 1) {
      promise(fine(walle_device_acknowledge_losses(device, &error), &error), "it is acknowledged");
      promise(fine(walle_device_losses(device, 0, &losses, &error), &error) &&
                  walle_device_losses_count(losses) == 0,
              "and gone");
      walle_device_losses_free(losses);
    }
    walle_device_free(device);
  }
}

/* The second version returns a price of 1000 more. */
static void goes_on(char** arguments) {
  walle_error_t error;
  walle_device_rows_t* rows = NULL;
  int idle = 0;
  walle_device_t* device = open_device(arguments, &error);
  if (device == NULL) return;
  promise(fine(walle_device_read(device, "shop", "sales", 0, 0, &rows, &error), &error) &&
              walle_device_rows_count(rows) == 10,
          "rows are there after a restart");
  walle_device_rows_free(rows);
  promise(fine(walle_device_install(device, arguments[4], &error), &error), "the task is replaced");
  promise(buy(device, 11, "new", NULL, &error), "an event is recorded");
  promise(fine(walle_device_wait(device, 30000, &idle, &error), &error) && idle, "the task is done");
  promise(fine(walle_device_read(device, "shop", "sales", 11, 0, &rows, &error), &error) &&
              walle_device_rows_count(rows) == 1 && walle_device_rows_find(rows, "price")->ints[0] == 1011,
          "the new version has run");
  walle_device_rows_free(rows);
  promise(fine(walle_device_remove(device, "shop", &error), &error), "the task is removed");
  promise(walle_device_remove(device, "shop", &error) != WALLE_OK, "which can be done once");
  walle_device_free(device);
}

int main(int count, char** arguments) {
  refuses_mistakes();
  if (count == 5) {
    records_and_reads(arguments);
    hears_of_losses(arguments);
    goes_on(arguments);
  }
  return bad;
}
