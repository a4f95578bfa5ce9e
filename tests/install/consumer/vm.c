/* Runs tasks through walle/vm.h: `consumer_vm LIBRARY BUNDLE`. Without arguments: checks that wrong calls are
 * refused. Prints one line per promise kept and ends with the number of the first that was not. */
#include <stdio.h>
#include <string.h>
#include <walle/vm.h>

static int promise(int kept, const char* what) {
  printf("%s  %s\n", kept ? "ok" : "FAILED", what);
  return kept ? 0 : 1;
}

static int refuses_mistakes(void) {
  walle_error_t error;
  walle_vm_t* vm = NULL;
  walle_vm_buffer_t* buffer = NULL;
  int bad = 0;
  bad |= promise(walle_vm_open("absent.so", &vm, &error) == WALLE_BACKEND && vm == NULL,
                 "a missing library is refused");
  bad |= promise(strstr(error.message, "absent.so") != NULL, "the error names it");
  bad |= promise(walle_vm_open(NULL, &vm, NULL) == WALLE_ARGUMENT, "NULL is refused without an error struct");
  bad |=
      promise(walle_vm_create(NULL, NULL, NULL, &error) == WALLE_ARGUMENT, "create without a VM is refused");
  bad |= promise(walle_vm_call(NULL, "m", "f", NULL, 0, NULL, &error) == WALLE_ARGUMENT,
                 "a call of NULL is refused");
  bad |= promise(walle_vm_buffer_wrap(NULL, 8, 0, NULL, NULL, &buffer, &error) == WALLE_ARGUMENT,
                 "a buffer of NULL is refused");
  walle_vm_free(NULL);
  walle_vm_bundle_free(NULL);
  walle_vm_destroy(NULL);
  walle_vm_cancel(NULL);
  walle_vm_result_free(NULL);
  walle_vm_buffer_free(NULL);
  return bad;
}

static walle_vm_value_t text(const char* content) {
  walle_vm_value_t value;
  memset(&value, 0, sizeof(value));
  value.kind = WALLE_KIND_STR;
  value.size = strlen(content);
  value.as.text = content;
  return value;
}

static int lines;
static void count_line(void* user, int level, const char* line, size_t size) {
  if (user == &lines && level == 1 && size == 5 && memcmp(line, "hello", 5) == 0) ++lines;
}

static int released;
static void count_release(void* user) { ++*(int*)user; }

/* def echo(x): print('hello'); return {'got': x} */
static int calls_with_values(walle_vm_isolate_t* isolate) {
  walle_error_t error;
  walle_vm_result_t* result = NULL;
  walle_vm_value_t items[3], argument;
  const walle_vm_value_t *answer, *list;
  int bad;
  memset(items, 0, sizeof(items));
  items[0].kind = WALLE_KIND_INT;
  items[0].as.integer = -7;
  items[1].kind = WALLE_KIND_FLOAT;
  items[1].as.real = 2.5;
  items[2] = text("gr\xc3\xbc\xc3\x9f");
  memset(&argument, 0, sizeof(argument));
  argument.kind = WALLE_KIND_LIST;
  argument.size = 3;
  argument.as.items = items;
  if (promise(walle_vm_call(isolate, "main", "echo", &argument, 1, &result, &error) == WALLE_OK,
              "a call returns"))
    return 1;
  answer = walle_vm_result_value(result);
  bad = promise(
      answer->kind == WALLE_KIND_MAP && answer->size == 1 && strcmp(answer->as.items[0].as.text, "got") == 0,
      "a map comes back");
  list = &answer->as.items[1];
  bad |= promise(list->kind == WALLE_KIND_LIST && list->size == 3 && list->as.items[0].as.integer == -7 &&
                     list->as.items[1].as.real == 2.5 &&
                     strcmp(list->as.items[2].as.text, "gr\xc3\xbc\xc3\x9f") == 0,
                 "the values are the same");
  bad |= promise(lines == 1, "print() reaches the log callback");
  walle_vm_result_free(result);
  return bad;
}

/* def fill(t): t[1] = 9.0; return t */
static int shares_memory(walle_vm_isolate_t* isolate) {
  static float data[4];
  walle_error_t error;
  walle_vm_buffer_t* buffer = NULL;
  walle_vm_result_t* result = NULL;
  walle_vm_tensor_t tensor;
  walle_vm_value_t argument;
  const walle_vm_value_t* answer;
  int bad;
  if (walle_vm_buffer_wrap(data, sizeof(data), 1, count_release, &released, &buffer, &error))
    return promise(0, error.message);
  memset(&tensor, 0, sizeof(tensor));
  tensor.dtype = WALLE_FLOAT32;
  tensor.rank = 1;
  tensor.shape[0] = 4;
  tensor.buffer = buffer;
  memset(&argument, 0, sizeof(argument));
  argument.kind = WALLE_KIND_TENSOR;
  argument.as.tensor = &tensor;
  if (promise(walle_vm_call(isolate, "main", "fill", &argument, 1, &result, &error) == WALLE_OK,
              "a tensor goes in"))
    return 1;
  answer = walle_vm_result_value(result);
  bad = promise(data[1] == 9.0f, "the task wrote into the caller's memory");
  bad |= promise(answer->kind == WALLE_KIND_TENSOR && walle_vm_buffer_data(answer->as.tensor->buffer) == data,
                 "it came back uncopied");
  tensor.shape[0] = 5;
  {
    walle_vm_result_t* none = NULL;
    bad |= promise(
        walle_vm_call(isolate, "main", "fill", &argument, 1, &none, &error) == WALLE_ARGUMENT && none == NULL,
        "a shape beyond its buffer is refused");
  }
  walle_vm_buffer_free(buffer);
  bad |= promise(released == 0, "memory that the result still holds is kept");
  walle_vm_result_free(result);
  bad |= promise(released == 1, "and given back after it");
  return bad;
}

/* def spin(): loops for ever; def fail(): 1 / 0 in line 2 of a function of main.py */
static int failures_are_data(walle_vm_isolate_t* isolate) {
  walle_error_t error;
  walle_vm_failure_t failure;
  walle_vm_stats_t stats;
  walle_vm_result_t* result = NULL;
  int bad = promise(walle_vm_call(isolate, "main", "fail", NULL, 0, &result, &error) == WALLE_TASK,
                    "a task that raises is an error");
  if (bad || walle_vm_result_failure(result, &failure, &error)) return 1;
  bad |= promise(strcmp(failure.type, "ZeroDivisionError") == 0 && strcmp(failure.limit, "") == 0,
                 "its type is named");
  bad |= promise(failure.frame_count == 1 && strcmp(failure.frames[0].file, "main.py") == 0 &&
                     failure.frames[0].line > 0,
                 "and its line");
  bad |= promise(walle_vm_result_value(result) == NULL, "it has no value");
  walle_vm_result_free(result);
  if (promise(walle_vm_call(isolate, "main", "spin", NULL, 0, &result, &error) == WALLE_TASK,
              "an endless loop ends"))
    return 1;
  if (walle_vm_result_failure(result, &failure, &error)) return 1;
  bad |= promise(strcmp(failure.limit, "wall") == 0, "by the limit that was set");
  walle_vm_result_free(result);
  bad |= promise(walle_vm_reset(isolate, &error) == WALLE_OK, "the isolate can be reset");
  bad |= promise(walle_vm_call(isolate, "main", "fail", NULL, 0, &result, &error) == WALLE_TASK,
                 "and used again");
  walle_vm_result_free(result);
  bad |= promise(
      walle_vm_get_stats(isolate, &stats, &error) == WALLE_OK && stats.calls == 1 && stats.heap_bytes > 0,
      "and counts");
  return bad;
}

static int run_tasks(const char* library, const char* path) {
  static const char* const allowed[] = {"walle.log"};
  walle_error_t error;
  walle_vm_t* vm = NULL;
  walle_vm_bundle_t* bundle = NULL;
  walle_vm_isolate_t* isolate = NULL;
  walle_vm_options_t options;
  int bad;
  memset(&options, 0, sizeof(options));
  options.struct_size = sizeof(options);
  options.wall_ms = 200;
  options.heap_bytes = 64u << 20;
  options.host_calls = allowed;
  options.host_call_count = 1;
  options.log = count_line;
  options.log_user = &lines;
  if (walle_vm_open(library, &vm, &error)) return promise(0, error.message);
  if (walle_vm_bundle_load(vm, path, &bundle, &error)) return promise(0, error.message);
  if (walle_vm_create(vm, &options, &isolate, &error)) return promise(0, error.message);
  if (walle_vm_load(isolate, bundle, &error)) return promise(0, error.message);
  walle_vm_bundle_free(bundle);
  bad = promise(strlen(walle_vm_id(vm)) > 0 && strcmp(walle_vm_python(vm), "3.13.5") == 0,
                "the VM names itself");
  bad |= calls_with_values(isolate) || shares_memory(isolate) || failures_are_data(isolate);
  walle_vm_destroy(isolate);
  walle_vm_free(vm);
  return bad;
}

int main(int argc, char** argv) { return argc > 2 ? run_tasks(argv[1], argv[2]) : refuses_mistakes(); }
