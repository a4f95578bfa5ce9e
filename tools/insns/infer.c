// infer FOLDER PRECISION: runs FOLDER/model.walle under counter.c and clock.c, on one thread, and says what a
// run takes in instructions:
//
//   run COUNT                    of the third run; the first plans, packs and allocates
//   step COUNT OP ALGORITHM NODE of each step of a fourth one, which profiles; words are parted by tabs
//
// Inputs are FOLDER/in0, in1 ... as bytes, in the model's order; results go to out0, out1 ...
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "walle/walle.h"

enum { kMostInputs = 32 };

static walle_error_t error;

static void stop(const char* what) {
  fprintf(stderr, "infer: %s\n", what);
  exit(1);
}

static void must(walle_status_t status) {
  if (status != WALLE_OK) stop(error.message);
}

static unsigned long long now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (unsigned long long)t.tv_sec * 1000000000u + (unsigned long long)t.tv_nsec;
}

static FILE* open_numbered(const char* folder, const char* kind, size_t index, const char* mode) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s%zu", folder, kind, index);
  FILE* file = fopen(path, mode);
  if (!file) stop(path);
  return file;
}

// Memory that lives as long as the process.
static walle_tensor_t read_input(const char* folder, const walle_model_t* model, size_t index) {
  walle_value_info_t info;
  must(walle_model_input(model, index, &info, &error));
  walle_tensor_t t = {.name = info.name, .dtype = info.dtype, .rank = info.rank, .data = NULL, .bytes = 0};
  size_t bytes = walle_dtype_size(info.dtype);
  for (int i = 0; i < info.rank; ++i) {
    if (info.shape[i] < 0) stop("an input of a size that the model leaves open");
    t.shape[i] = info.shape[i];
    bytes *= (size_t)info.shape[i];
  }
  // Aligned as NumPy and the peers' own tensors are.
  void* data = aligned_alloc(64, (bytes + 63) / 64 * 64 + 64);
  FILE* file = open_numbered(folder, "in", index, "rb");
  if (!data || fread(data, 1, bytes, file) != bytes) stop("an input file is shorter than its tensor");
  fclose(file);
  t.data = data;
  t.bytes = bytes;
  return t;
}

static void write_results(const char* folder, const walle_results_t* results) {
  for (size_t i = 0; i < walle_results_count(results); ++i) {
    walle_tensor_t t;
    must(walle_results_get(results, i, &t, &error));
    FILE* file = open_numbered(folder, "out", i, "wb");
    if (fwrite(t.data, 1, t.bytes, file) != t.bytes) stop("a result cannot be written");
    fclose(file);
  }
}

int main(int argc, char** argv) {
  if (argc != 3) stop("expected FOLDER PRECISION");
  char path[4096];
  snprintf(path, sizeof path, "%s/model.walle", argv[1]);
  walle_model_t* model = NULL;
  must(walle_model_load(path, &model, &error));
  const size_t count = walle_model_input_count(model);
  if (count > kMostInputs) stop("too many inputs");
  walle_tensor_t inputs[kMostInputs];
  for (size_t i = 0; i < count; ++i) inputs[i] = read_input(argv[1], model, i);
  const walle_session_options_t options = {.struct_size = sizeof options,
                                           .threads = 1,
                                           .precision = argv[2],
                                           .plan_cache = "off",
                                           .weights_cache = "off"};
  walle_session_t* session = NULL;
  must(walle_session_create(model, &options, &session, &error));
  walle_results_t* results = NULL;
  for (int round = 0; round < 3; ++round) {
    walle_results_free(results);
    const unsigned long long begun = now();
    must(walle_session_run(session, inputs, count, &results, &error));
    if (round == 2) printf("run\t%llu\n", now() - begun);
  }
  write_results(argv[1], results);
  must(walle_session_start_profile(session, &error));
  must(walle_session_run(session, inputs, count, &results, &error));
  const walle_profile_step_t* steps = NULL;
  size_t found = 0;
  must(walle_session_stop_profile(session, &steps, &found, &error));
  for (size_t i = 0; i < found; ++i)
    printf("step\t%.0f\t%s\t%s\t%s\n", steps[i].duration_us * 1e3, steps[i].op, steps[i].algorithm,
           steps[i].node);
  return 0;
}
