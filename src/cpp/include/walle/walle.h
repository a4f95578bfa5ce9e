/* walle.h: load a .walle model and run it. C99; the only symbols libwalle exports.
 *
 * Every function that can fail returns a walle_status_t and fills the caller's walle_error_t (which may be
 * NULL). Objects are opaque and freed by their _free function; freeing NULL does nothing. Models are
 * immutable and may be shared by threads; runs of one session happen one after the other, different sessions
 * run at the same time. Strings are UTF-8 and belong to the object they came from. Nothing is printed and the
 * process is never ended.
 */
#ifndef WALLE_WALLE_H
#define WALLE_WALLE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WALLE_VERSION_MAJOR 0
#define WALLE_VERSION_MINOR 1
#define WALLE_VERSION_PATCH 0

#if defined(__GNUC__)
#define WALLE_API __attribute__((visibility("default")))
#else
#define WALLE_API
#endif

typedef enum walle_status_t {
  WALLE_OK = 0,
  WALLE_ARGUMENT = 1, /* a value passed to the API is wrong */
  WALLE_MODEL = 2,    /* the model is damaged, unsupported or inconsistent */
  WALLE_RESOURCE = 3, /* memory, files or a limit */
  WALLE_BACKEND = 4,  /* a requested backend is missing or failed */
  WALLE_TASK = 5,
  WALLE_NETWORK = 6,
  WALLE_INTERNAL = 7, /* a bug worth reporting */
  WALLE_TIMEOUT = 8,  /* a run was not done at its deadline */
  WALLE_CANCELLED = 9 /* a run was ended by walle_cancel_request() */
} walle_status_t;

/* Numbers as in model files. */
typedef enum walle_dtype_t {
  WALLE_UNDEFINED = 0,
  WALLE_FLOAT32 = 1,
  WALLE_FLOAT64 = 2,
  WALLE_FLOAT16 = 3,
  WALLE_BFLOAT16 = 4,
  WALLE_INT8 = 5,
  WALLE_INT16 = 6,
  WALLE_INT32 = 7,
  WALLE_INT64 = 8,
  WALLE_UINT8 = 9,
  WALLE_UINT16 = 10,
  WALLE_UINT32 = 11,
  WALLE_UINT64 = 12,
  WALLE_BOOL = 13,
  WALLE_FLOAT8E4M3FN = 14,
  WALLE_FLOAT8E4M3FNUZ = 15,
  WALLE_FLOAT8E5M2 = 16,
  WALLE_FLOAT8E5M2FNUZ = 17,
  /* One element per byte, the code in its low bits. */
  WALLE_FLOAT8E8M0 = 18,
  WALLE_INT4 = 19,
  WALLE_UINT4 = 20,
  WALLE_INT2 = 21,
  WALLE_UINT2 = 22,
  WALLE_FLOAT4E2M1 = 23,
  /* Real and imaginary part; moved, and no operator computes with them. */
  WALLE_COMPLEX64 = 24,
  WALLE_COMPLEX128 = 25
} walle_dtype_t;

#define WALLE_MAX_RANK 8

/* Owned by the caller; filled on failure, cut to fit. */
typedef struct walle_error_t {
  walle_status_t status;
  char message[512]; /* given; expected; where; next step */
} walle_error_t;

typedef struct walle_model_t walle_model_t;
typedef struct walle_session_t walle_session_t;
typedef struct walle_results_t walle_results_t;

/* A dense row-major tensor. As an input: the caller's memory, which must stay unchanged during the run. As a
 * result: memory of the results object. */
typedef struct walle_tensor_t {
  const char* name;
  walle_dtype_t dtype;
  int32_t rank;
  int64_t shape[WALLE_MAX_RANK];
  const void* data;
  size_t bytes;
} walle_tensor_t;

/* What a model declares about an input or output: shape -1 is not known before run time, rank -1 an unknown
 * rank. */
typedef struct walle_value_info_t {
  const char* name;
  walle_dtype_t dtype;
  int32_t rank;
  int64_t shape[WALLE_MAX_RANK];
} walle_value_info_t;

/* Set struct_size to sizeof(walle_session_options_t), and what is not wanted to 0; later versions append
 * fields. */
typedef struct walle_session_options_t {
  size_t struct_size;
  const char* backend;       /* or several in order of preference, "opencl,cpu"; NULL: "cpu" */
  int32_t threads;           /* at most; 0: as many as this process may use */
  const char* precision;     /* "float32", "auto", "bf16" or "fp16"; NULL: "float32" */
  const char* accuracy;      /* of faster ways to a result: "strict", "fast"; NULL: "normal" */
  int32_t tune;              /* of each operator, so many of the likeliest choices are measured: 0 to 64 */
  int32_t max_plans;         /* kept of each graph, one per class of shapes; 0: 64 */
  int64_t max_plan_bytes;    /* that plans may take together, the newest stays; 0: no bound */
  const char* plan_cache;    /* folder of kept decisions, "off": none; NULL: WALLE_PLAN_CACHE */
  const char* weights_cache; /* folder of packed weights, "off": none; NULL: WALLE_WEIGHTS_CACHE */
  const char* debug;         /* what to leave out of making a plan, for comparison; NULL: nothing */
} walle_session_options_t;

/* "0.1.0" */
WALLE_API const char* walle_version(void);
/* "argument", "model", ...; NULL for a number that is none. */
WALLE_API const char* walle_status_name(walle_status_t status);
/* "float32", ...; NULL for a number that is none. */
WALLE_API const char* walle_dtype_name(walle_dtype_t dtype);
/* Bytes of one element; 0 for a number that is none. */
WALLE_API size_t walle_dtype_size(walle_dtype_t dtype);

/* A file above 1 MiB stays mapped while the model or a session of it lives: replace it by a rename. Written
   over in place, it fails every later run with a resource error. */
WALLE_API walle_status_t walle_model_load(const char* path, walle_model_t** model, walle_error_t* error);
/* The bytes are copied. */
WALLE_API walle_status_t walle_model_parse(const void* data, size_t bytes, walle_model_t** model,
                                           walle_error_t* error);
WALLE_API void walle_model_free(walle_model_t* model);
WALLE_API size_t walle_model_input_count(const walle_model_t* model);
WALLE_API size_t walle_model_output_count(const walle_model_t* model);
/* WALLE_ARGUMENT when the index is out of range. */
WALLE_API walle_status_t walle_model_input(const walle_model_t* model, size_t index, walle_value_info_t* info,
                                           walle_error_t* error);
WALLE_API walle_status_t walle_model_output(const walle_model_t* model, size_t index,
                                            walle_value_info_t* info, walle_error_t* error);
/* Inputs with a value of their own, which a run may give another one: ONNX's initializers that are inputs. */
WALLE_API size_t walle_model_overridable_count(const walle_model_t* model);
WALLE_API walle_status_t walle_model_overridable(const walle_model_t* model, size_t index,
                                                 walle_value_info_t* info, walle_error_t* error);
/* States: values that each session keeps for itself and every run updates (docs/concepts/states.md). No run
 * is given them, and no result has them. */
WALLE_API size_t walle_model_state_count(const walle_model_t* model);
WALLE_API walle_status_t walle_model_state(const walle_model_t* model, size_t index, walle_value_info_t* info,
                                           walle_error_t* error);
/* The name of a dimension whose size is not known before run time ("batch"); equal names are equal sizes
 * within one run. NULL for known sizes, unnamed dimensions and indices out of range. */
WALLE_API const char* walle_model_input_symbol(const walle_model_t* model, size_t index, int32_t axis);
WALLE_API const char* walle_model_output_symbol(const walle_model_t* model, size_t index, int32_t axis);
/* NULL when there is no such entry. */
WALLE_API const char* walle_model_metadata(const walle_model_t* model, const char* key);
WALLE_API size_t walle_model_metadata_count(const walle_model_t* model);
WALLE_API const char* walle_model_metadata_key(const walle_model_t* model, size_t index);
/* Named ways to call the model, with names of their own for some inputs and outputs. NULL when the index is
 * out of range. */
WALLE_API size_t walle_model_signature_count(const walle_model_t* model);
WALLE_API const char* walle_model_signature_name(const walle_model_t* model, size_t index);
/* The index-th name that a signature gives to an input or output; graph_name, which may be NULL, becomes the
 * graph's own. NULL when an index is out of range. */
WALLE_API const char* walle_model_signature_input(const walle_model_t* model, size_t signature, size_t index,
                                                  const char** graph_name);
WALLE_API const char* walle_model_signature_output(const walle_model_t* model, size_t signature, size_t index,
                                                   const char** graph_name);

/* options may be NULL. The session keeps the model alive. */
WALLE_API walle_status_t walle_session_create(const walle_model_t* model,
                                              const walle_session_options_t* options,
                                              walle_session_t** session, walle_error_t* error);
WALLE_API void walle_session_free(walle_session_t* session);
/* Every input once, by name, in any order; overridable ones at will. */
WALLE_API walle_status_t walle_session_run(walle_session_t* session, const walle_tensor_t* inputs,
                                           size_t count, walle_results_t** results, walle_error_t* error);

/* The same by the names of a signature; the results are those it names, in its order. NULL: the graph's own
 * names. */
WALLE_API walle_status_t walle_session_run_signature(walle_session_t* session, const char* signature,
                                                     const walle_tensor_t* inputs, size_t count,
                                                     walle_results_t** results, walle_error_t* error);
/* Ends runs from any thread; once asked to it stays so, and a run that begins later with it ends at once.
 * Lives at least as long as the runs it is given to. NULL: memory is short. */
typedef struct walle_cancel_t walle_cancel_t;
WALLE_API walle_cancel_t* walle_cancel_create(void);
WALLE_API void walle_cancel_request(walle_cancel_t* cancel);
WALLE_API void walle_cancel_free(walle_cancel_t* cancel);

/* Memory of the caller for one result: exactly its dtype, shape and bytes, aligned to its elements, apart
 * from the inputs and from that of other results. A plan writes there what it computes into memory of its
 * own; a result that is an input, a constant or another result, or that a control operator makes, is copied
 * once. After a run that failed it holds anything. */
typedef struct walle_result_memory_t {
  const char* name;
  walle_dtype_t dtype;
  int32_t rank;
  int64_t shape[WALLE_MAX_RANK];
  void* data;
  size_t bytes;
} walle_result_memory_t;

/* Set struct_size to sizeof(walle_run_options_t), and what is not wanted to 0; later versions append fields.
 */
typedef struct walle_run_options_t {
  size_t struct_size;
  const char* signature; /* names of inputs, results and memory are its; NULL: the graph's own */
  double timeout;        /* seconds from the call on, waiting for the session included; 0: no limit */
  walle_cancel_t* cancel;
  const walle_result_memory_t* memory;
  size_t memory_count;
} walle_run_options_t;

/* WALLE_TIMEOUT or WALLE_CANCELLED when the run was ended; the step under way is finished first, and the
 * session can be used as before. options may be NULL. */
WALLE_API walle_status_t walle_session_run_with(walle_session_t* session, const walle_run_options_t* options,
                                                const walle_tensor_t* inputs, size_t count,
                                                walle_results_t** results, walle_error_t* error);
/* Plans ahead for inputs of these shapes, with packed weights, as far as shapes decide: up to the first
 * control operator, or the first size that a computed value decides. The next run of these shapes then only
 * runs. Inputs as for walle_session_run, by the graph's own names, each with data NULL and bytes 0 for
 * whatever values it will have, or with those that decide sizes. What is planned already is kept. Waits for a
 * run that is under way. WALLE_ARGUMENT names the input that does not fit, or whose values are missing. */
WALLE_API walle_status_t walle_session_prepare(walle_session_t* session, const walle_tensor_t* inputs,
                                               size_t count, walle_error_t* error);
/* One line per step of the plans made so far (one exists after the first run): operator, backend, algorithm,
 * result, predicted time, node. The text lives until the next call or the end of the session. */
WALLE_API walle_status_t walle_session_explain(walle_session_t* session, const char** text,
                                               walle_error_t* error);

/* One step of a run: times in microseconds since walle_session_start_profile. */
typedef struct walle_profile_step_t {
  const char* node; /* of the graph */
  const char* op;   /* "plan", "pack", "fit": a plan was made, made ready, fitted */
  const char* backend;
  const char* algorithm;
  double start_us;
  double duration_us;
} walle_profile_step_t;

/* Times every step of the runs from here on. */
WALLE_API walle_status_t walle_session_start_profile(walle_session_t* session, walle_error_t* error);
/* Ends it; the steps in the order in which they began, which live until the next call or the end of the
 * session. walle_session_explain then has the means. No steps without a profile. */
WALLE_API walle_status_t walle_session_stop_profile(walle_session_t* session,
                                                    const walle_profile_step_t** steps, size_t* count,
                                                    walle_error_t* error);

/* A copy of what the last run left in a state, or of what the session begins with: one tensor under the
 * state's name, freed by walle_results_free. These three wait for a run that is under way. */
WALLE_API walle_status_t walle_session_state(walle_session_t* session, const char* name,
                                             walle_results_t** contents, walle_error_t* error);
/* Gives the state of value's name other contents, which are copied. WALLE_ARGUMENT when it is declared as
 * something else; then it keeps what it had. */
WALLE_API walle_status_t walle_session_set_state(walle_session_t* session, const walle_tensor_t* value,
                                                 walle_error_t* error);
/* All states begin again with what the model says. */
WALLE_API walle_status_t walle_session_reset_states(walle_session_t* session, walle_error_t* error);

/* Gives back what the session holds between runs and makes again with its next one: plans, with what was
 * packed and folded for them alone, what they compute in, and memory of results that nobody holds. bytes: of
 * them; may be NULL. States stay. Waits for a run that is under way; WALLE_ARGUMENT in a callback of one. */
WALLE_API walle_status_t walle_session_trim(walle_session_t* session, int64_t* bytes, walle_error_t* error);
/* The same for every session of the process, those of tasks included, but for the ones that run just now: for
 * Android's onTrimMemory and iOS's memory warning, from any thread. Bytes given back. */
WALLE_API int64_t walle_trim(void);

WALLE_API void walle_results_free(walle_results_t* results);
WALLE_API size_t walle_results_count(const walle_results_t* results);
/* By index in the order of the model's outputs, or of the signature's. */
WALLE_API walle_status_t walle_results_get(const walle_results_t* results, size_t index,
                                           walle_tensor_t* tensor, walle_error_t* error);
/* By name. */
WALLE_API walle_status_t walle_results_find(const walle_results_t* results, const char* name,
                                            walle_tensor_t* tensor, walle_error_t* error);

#ifdef __cplusplus
}
#endif

#endif /* WALLE_WALLE_H */
