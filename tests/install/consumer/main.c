/* Runs the model named on the command line on a ramp (float32 inputs of known shape), or checks that wrong
 * calls are refused. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <walle/walle.h>

static int refuses_mistakes(void) {
  walle_error_t error;
  walle_model_t* model = NULL;
  if (walle_model_load("absent.walle", &model, &error) != WALLE_RESOURCE || model != NULL) return 1;
  if (strstr(error.message, "absent.walle") == NULL) return 2;
  if (walle_model_load(NULL, &model, &error) != WALLE_ARGUMENT) return 3;
  if (walle_model_parse("not a model at all", 18, &model, &error) != WALLE_MODEL) return 4;
  if (walle_model_load("absent.walle", &model, NULL) != WALLE_RESOURCE) return 5;
  if (walle_session_run(NULL, NULL, 0, NULL, &error) != WALLE_ARGUMENT) return 6;
  walle_model_free(NULL);
  walle_session_free(NULL);
  walle_results_free(NULL);
  walle_cancel_request(NULL);
  walle_cancel_free(NULL);
  return 0;
}

static int names_numbers(void) {
  if (strcmp(walle_status_name(WALLE_RESOURCE), "resource") != 0 ||
      strcmp(walle_status_name(WALLE_CANCELLED), "cancelled") != 0 ||
      walle_status_name((walle_status_t)99) != NULL)
    return 20;
  if (strcmp(walle_dtype_name(WALLE_BFLOAT16), "bfloat16") != 0 || walle_dtype_name(WALLE_UNDEFINED) != NULL)
    return 21;
  if (walle_dtype_size(WALLE_FLOAT64) != 8 || walle_dtype_size((walle_dtype_t)-1) != 0) return 22;
  return 0;
}

/* Every field of an input wrong in turn; then the right one must still run. */
static int refuses_wrong_inputs(const walle_model_t* model, walle_session_t* session,
                                const walle_tensor_t* good) {
  walle_error_t error;
  walle_results_t* results = NULL;
  walle_value_info_t info;
  walle_tensor_t bad[8];
  size_t i;
  for (i = 0; i < 8; ++i) bad[i] = *good;
  bad[0].name = "nobody";
  bad[1].dtype = (walle_dtype_t)99;
  bad[2].rank = 200;
  bad[3].rank = -1;
  bad[4].shape[0] = -3;
  bad[5].bytes -= 1;
  bad[6].data = NULL;
  bad[7].shape[0] = INT64_MAX;
  for (i = 0; i < 8; ++i) {
    const walle_status_t status = walle_session_run(session, &bad[i], 1, &results, &error);
    if (status == WALLE_OK || status == WALLE_INTERNAL || results != NULL || error.status != status ||
        error.message[0] == 0)
      return 30 + (int)i;
  }
  if (walle_session_run(session, NULL, 0, &results, &error) != WALLE_ARGUMENT) return 40;
  if (walle_session_run(session, NULL, 1, &results, &error) != WALLE_ARGUMENT) return 41;
  if (walle_session_run_signature(session, "absent", good, 1, &results, &error) != WALLE_ARGUMENT) return 42;
  if (walle_model_input(model, 1000, &info, &error) != WALLE_ARGUMENT ||
      walle_model_output(model, 0, NULL, &error) != WALLE_ARGUMENT)
    return 43;
  if (walle_model_input_symbol(model, 0, -1) != NULL || walle_model_input_symbol(model, 9, 0) != NULL)
    return 44;
  if (walle_session_run(session, good, 1, &results, &error) != WALLE_OK) return 45;
  if (walle_results_get(results, walle_results_count(results), &bad[0], &error) != WALLE_ARGUMENT) return 46;
  if (walle_results_find(results, "nobody", &bad[0], &error) != WALLE_ARGUMENT) return 47;
  walle_results_free(results);
  return 0;
}

/* The signature "serve" takes "in" and gives "out". */
static int runs_the_signature(const walle_model_t* model, walle_session_t* session, walle_tensor_t input) {
  walle_error_t error;
  walle_results_t* results = NULL;
  walle_tensor_t output;
  const char* plan = NULL;
  if (walle_model_signature_count(model) != 1 || strcmp(walle_model_signature_name(model, 0), "serve") != 0)
    return 50;
  if (walle_model_signature_name(model, 1) != NULL) return 51;
  if (walle_session_run_signature(session, "serve", &input, 1, &results, &error) != WALLE_ARGUMENT) return 52;
  input.name = "in";
  if (walle_session_run_signature(session, "serve", &input, 1, &results, &error) != WALLE_OK) return 53;
  if (walle_results_count(results) != 1 || walle_results_find(results, "out", &output, &error) != WALLE_OK)
    return 54;
  if (strcmp(output.name, "out") != 0 || walle_results_find(results, "y", &output, &error) != WALLE_ARGUMENT)
    return 55;
  walle_results_free(results);
  if (walle_session_explain(session, &plan, &error) != WALLE_OK || strstr(plan, "cpu") == NULL) return 56;
  if (walle_model_metadata_count(model) == 0 ||
      walle_model_metadata(model, walle_model_metadata_key(model, 0)) == NULL)
    return 57;
  if (walle_model_metadata(model, "absent") != NULL || walle_model_metadata_key(model, 1000) != NULL)
    return 58;
  return 0;
}

/* Deadlines, tokens and the caller's own memory; `like` is a result of a run on the same input. */
static int ends_and_fills(walle_session_t* session, const walle_tensor_t* input, const walle_tensor_t* like) {
  walle_error_t error;
  walle_results_t* results = NULL;
  walle_tensor_t output;
  walle_result_memory_t memory;
  walle_run_options_t options;
  walle_cancel_t* cancel = walle_cancel_create();
  memset(&options, 0, sizeof(options));
  memset(&memory, 0, sizeof(memory));
  options.struct_size = sizeof(options);
  options.cancel = cancel;
  if (cancel == NULL) return 60;
  if (walle_session_run_with(session, &options, input, 1, &results, &error) != WALLE_OK) return 61;
  walle_results_free(results);
  walle_cancel_request(cancel);
  if (walle_session_run_with(session, &options, input, 1, &results, &error) != WALLE_CANCELLED) return 62;
  walle_cancel_free(cancel);
  options.cancel = NULL;
  options.timeout = -1;
  if (walle_session_run_with(session, &options, input, 1, &results, &error) != WALLE_ARGUMENT) return 63;
  options.timeout = 1e-9;
  if (walle_session_run_with(session, &options, input, 1, &results, &error) != WALLE_TIMEOUT) return 64;
  options.timeout = 3600;
  memory.name = like->name;
  memory.dtype = like->dtype;
  memory.rank = like->rank;
  memcpy(memory.shape, like->shape, sizeof(memory.shape));
  memory.bytes = like->bytes;
  memory.data = malloc(like->bytes);
  options.memory = &memory;
  options.memory_count = 1;
  if (memory.data == NULL) return 65;
  if (walle_session_run_with(session, &options, input, 1, &results, &error) != WALLE_OK) return 66;
  if (walle_results_find(results, like->name, &output, &error) != WALLE_OK) return 67;
  if (output.data != memory.data || memcmp(memory.data, like->data, like->bytes) != 0) return 68;
  walle_results_free(results);
  memory.name = "nobody";
  if (walle_session_run_with(session, &options, input, 1, &results, &error) != WALLE_ARGUMENT) return 69;
  memory.name = like->name;
  memory.bytes -= 1;
  if (walle_session_run_with(session, &options, input, 1, &results, &error) != WALLE_ARGUMENT) return 70;
  free(memory.data);
  return 0;
}

/* Each option of a session reaches it, and those of an older header are enough. */
/* Plans ahead for an input known by its shape alone. */
static int prepares(walle_session_t* session, walle_tensor_t input) {
  walle_error_t error;
  const char* plan = NULL;
  walle_tensor_t shape = input;
  shape.data = NULL;
  shape.bytes = 0;
  if (walle_session_prepare(session, &shape, 1, &error) != WALLE_OK) return 180;
  if (walle_session_prepare(session, &shape, 1, &error) != WALLE_OK) return 181;
  if (walle_session_explain(session, &plan, &error) != WALLE_OK || strstr(plan, "cpu") == NULL) return 182;
  shape.name = "absent";
  if (walle_session_prepare(session, &shape, 1, &error) != WALLE_ARGUMENT) return 183;
  if (strstr(error.message, "absent") == NULL) return 184;
  shape = input;
  shape.data = NULL;
  if (walle_session_prepare(session, &shape, 1, &error) != WALLE_ARGUMENT) return 185; /* bytes, no data */
  if (walle_session_prepare(session, NULL, 1, &error) != WALLE_ARGUMENT) return 186;
  if (walle_session_prepare(NULL, &input, 1, &error) != WALLE_ARGUMENT) return 187;
  return 0;
}

static int takes_options(const walle_model_t* model) {
  walle_error_t error;
  walle_session_t* session = NULL;
  walle_session_options_t options;
  memset(&options, 0, sizeof(options));
  options.struct_size = offsetof(walle_session_options_t, precision);
  options.threads = 1;
  options.precision = "beyond struct_size, so not read";
  if (walle_session_create(model, &options, &session, &error) != WALLE_OK) return 80;
  walle_session_free(session);
  options.struct_size = sizeof(options);
  if (walle_session_create(model, &options, &session, &error) != WALLE_ARGUMENT) return 81;
  if (strstr(error.message, "precision") == NULL || session != NULL) return 82;
  options.precision = NULL;
  options.accuracy = "exact";
  if (walle_session_create(model, &options, &session, &error) != WALLE_ARGUMENT) return 83;
  options.accuracy = "strict";
  options.tune = -1;
  if (walle_session_create(model, &options, &session, &error) != WALLE_ARGUMENT) return 84;
  options.tune = 0;
  options.max_plan_bytes = -1;
  if (walle_session_create(model, &options, &session, &error) != WALLE_ARGUMENT) return 87;
  options.max_plan_bytes = 1;
  options.debug = "merge=on";
  if (walle_session_create(model, &options, &session, &error) != WALLE_ARGUMENT) return 85;
  options.debug = "search=off,merge=off";
  options.plan_cache = "off";
  options.weights_cache = "off";
  if (walle_session_create(model, &options, &session, &error) != WALLE_OK) return 86;
  walle_session_free(session);
  return 0;
}

/* "total" begins with 0 and gains what "x" sums up to; "seen" is its square before that. */
static int keeps_states(const char* path) {
  walle_error_t error;
  walle_model_t* model = NULL;
  walle_session_t* session = NULL;
  walle_results_t* results = NULL;
  walle_value_info_t info;
  walle_tensor_t x = {"x", WALLE_FLOAT32, 1, {3}, NULL, 0};
  walle_tensor_t total = {"total", WALLE_FLOAT32, 1, {1}, NULL, 0};
  walle_tensor_t out;
  const float ones[3] = {1, 1, 1};
  float mine = 10;
  x.data = ones;
  x.bytes = sizeof(ones);
  total.data = &mine;
  total.bytes = sizeof(mine);
  if (walle_model_load(path, &model, &error) != WALLE_OK) return 90;
  if (walle_session_create(model, NULL, &session, &error) != WALLE_OK) return 91;
  if (walle_model_state_count(model) != 1 || walle_model_state_count(NULL) != 0) return 92;
  if (walle_model_state(model, 1, &info, &error) != WALLE_ARGUMENT) return 93;
  if (walle_model_state(model, 0, &info, &error) != WALLE_OK || strcmp(info.name, "total") != 0 ||
      info.dtype != WALLE_FLOAT32 || info.rank != 1 || info.shape[0] != 1)
    return 94;
  if (walle_session_run(session, &x, 1, &results, &error) != WALLE_OK) return 95;
  walle_results_free(results);
  if (walle_session_state(session, "total", &results, &error) != WALLE_OK) return 96;
  if (walle_results_count(results) != 1 || walle_results_find(results, "total", &out, &error) != WALLE_OK ||
      out.bytes != sizeof(float) || ((const float*)out.data)[0] != 3)
    return 97;
  if (walle_session_set_state(session, &total, &error) != WALLE_OK) return 98;
  mine = 99; /* it was copied, and so was what was read */
  if (((const float*)out.data)[0] != 3) return 99;
  walle_results_free(results);
  if (walle_session_run(session, &x, 1, &results, &error) != WALLE_OK) return 100;
  if (walle_results_find(results, "seen", &out, &error) != WALLE_OK || ((const float*)out.data)[0] != 100)
    return 101;
  walle_results_free(results);
  if (walle_session_state(session, "totl", &results, &error) != WALLE_ARGUMENT || results != NULL ||
      strstr(error.message, "did you mean 'total'") == NULL)
    return 102;
  x.name = "total"; /* of three elements */
  if (walle_session_set_state(session, &x, &error) != WALLE_ARGUMENT) return 103;
  if (walle_session_set_state(session, NULL, &error) != WALLE_ARGUMENT) return 104;
  if (walle_session_state(session, NULL, &results, &error) != WALLE_ARGUMENT) return 105;
  if (walle_session_reset_states(NULL, &error) != WALLE_ARGUMENT) return 106;
  if (walle_session_reset_states(session, &error) != WALLE_OK) return 107;
  if (walle_session_state(session, "total", &results, &error) != WALLE_OK) return 108;
  if (walle_results_get(results, 0, &out, &error) != WALLE_OK || ((const float*)out.data)[0] != 0) return 109;
  walle_results_free(results);
  int64_t given = -1;
  if (walle_session_trim(NULL, &given, &error) != WALLE_ARGUMENT) return 110;
  if (walle_session_trim(session, &given, &error) != WALLE_OK || given <= 0) return 111;
  if (walle_session_trim(session, NULL, &error) != WALLE_OK || walle_trim() != 0) return 112;
  x.name = "x";
  if (walle_session_run(session, &x, 1, &results, &error) != WALLE_OK) return 113;
  walle_results_free(results);
  if (walle_trim() <= 0) return 114;
  walle_session_free(session);
  walle_model_free(model);
  return 0;
}

static int fail(const char* what, const walle_error_t* error) {
  fprintf(stderr, "%s: %s\n", what, error->message);
  return 1;
}

static int run_model(const char* path) {
  walle_error_t error;
  walle_model_t* model = NULL;
  walle_session_t* session = NULL;
  walle_results_t* results = NULL;
  walle_tensor_t input, output;
  walle_value_info_t info;
  walle_session_options_t options = {0};
  float* values = NULL;
  size_t count = 1, i;
  int32_t d;
  int problem;
  options.struct_size = sizeof(options);
  options.threads = 1;
  if (walle_model_load(path, &model, &error)) return fail("load", &error);
  if (walle_session_create(model, &options, &session, &error)) return fail("session", &error);
  if (walle_model_input(model, 0, &info, &error)) return fail("input", &error);
  memset(&input, 0, sizeof(input));
  input.name = info.name;
  input.dtype = info.dtype;
  input.rank = info.rank;
  for (d = 0; d < info.rank; ++d) {
    if (info.shape[d] < 0 && walle_model_input_symbol(model, 0, d) == NULL) return 1;
    input.shape[d] = info.shape[d] < 0 ? 1 : info.shape[d];
    count *= (size_t)input.shape[d];
  }
  values = (float*)malloc(count * sizeof(float));
  if (values == NULL) return 1;
  for (i = 0; i < count; ++i) values[i] = (float)i / (float)count;
  input.data = values;
  input.bytes = count * sizeof(float);
  if (walle_session_run(session, &input, 1, &results, &error)) return fail("run", &error);
  if (walle_results_get(results, 0, &output, &error)) return fail("results", &error);
  problem = refuses_wrong_inputs(model, session, &input);
  if (!problem) problem = takes_options(model);
  if (!problem) problem = prepares(session, input);
  if (!problem) problem = ends_and_fills(session, &input, &output);
  if (!problem && walle_model_signature_count(model)) problem = runs_the_signature(model, session, input);
  if (problem) fprintf(stderr, "check %d of the C API failed\n", problem);
  for (i = 0; i < output.bytes / sizeof(float); ++i) printf("%.6g\n", ((const float*)output.data)[i]);
  walle_results_free(results);
  walle_session_free(session);
  walle_model_free(model);
  free(values);
  return problem;
}

int main(int argc, char** argv) {
  int problem;
  if (argc > 2) {
    problem = keeps_states(argv[2]);
    if (problem) fprintf(stderr, "check %d of the states failed\n", problem);
    if (problem) return problem;
  }
  if (argc > 1) return run_model(argv[1]);
  problem = refuses_mistakes();
  if (!problem) problem = names_numbers();
  if (problem) fprintf(stderr, "mistake %d was not refused as documented\n", problem);
  printf("walle %s\n", walle_version());
  return problem;
}
