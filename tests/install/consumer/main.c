/* Runs the model named on the command line on a ramp (float32 inputs of known shape), or checks that wrong calls are refused. */
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
  walle_session_options_t options = {sizeof(walle_session_options_t), NULL, 1};
  float* values = NULL;
  size_t count = 1, i;
  int32_t d;
  if (walle_model_load(path, &model, &error)) return fail("load", &error);
  if (walle_session_create(model, &options, &session, &error)) return fail("session", &error);
  if (walle_model_input(model, 0, &info, &error)) return fail("input", &error);
  memset(&input, 0, sizeof(input));
  input.name = info.name;
  input.dtype = info.dtype;
  input.rank = info.rank;
  for (d = 0; d < info.rank; ++d) {
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
  for (i = 0; i < output.bytes / sizeof(float); ++i) printf("%.6g\n", ((const float*)output.data)[i]);
  walle_results_free(results);
  walle_session_free(session);
  walle_model_free(model);
  free(values);
  return 0;
}

int main(int argc, char** argv) {
  int problem;
  if (argc > 1) return run_model(argv[1]);
  problem = refuses_mistakes();
  if (problem) fprintf(stderr, "mistake %d was not refused as documented\n", problem);
  printf("walle %s\n", walle_version());
  return problem;
}
