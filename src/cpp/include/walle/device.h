/* device.h: record events and let the tasks they trigger run, durably. C99; part of libwalle, beside walle.h,
 * whose rules on errors and ownership hold, and vm.h, whose values are used.
 *
 * A device is one folder. Tasks are installed into it as compiled bundles (.wtask files with a task's
 * manifest: `walle task compile`); an application records events: what a task's trigger matches runs it on a
 * worker thread, and what it returns is stored in its result tables in the same step that marks the firing as
 * done. An application may also ask a task for what its [call] offers: walle_device_call. After a crash, a
 * firing whose results are not stored runs again, and one whose results are stored never does.
 *
 * Any function may be called from any thread, but for walle_device_free, which is called last. A folder has
 * one device at a time; a child of fork() cannot use its parent's.
 */
#ifndef WALLE_DEVICE_H
#define WALLE_DEVICE_H

#include <walle/vm.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct walle_device_t walle_device_t;
typedef struct walle_device_rows_t walle_device_rows_t;
typedef struct walle_device_tasks_t walle_device_tasks_t;
typedef struct walle_device_losses_t walle_device_losses_t;

/* Lines of tasks, from the thread that runs them; level as in walle_vm_log_t. */
typedef void (*walle_device_log_t)(void* user, const char* task, int level, const char* text, size_t size);

/* The answer of one call of a function of the application; it lives as long as the callback. */
typedef struct walle_app_answer_t walle_app_answer_t;
/* A function that tasks may call as walle.app.NAME. Called from threads of the device's own, several at once,
 * with arguments of the types that the task's [app] declares, which live as long as the callback. It answers
 * with walle_app_return or walle_app_fail, else with none. In it walle_device_call, close and wait are
 * WALLE_ARGUMENT. A task waits as long as its [app] says: a call goes on after that, and after
 * walle_device_close, until it returns, and `user` must last as long; none begins once the device is closed.
 */
typedef void (*walle_app_fn)(void* user, const walle_vm_value_t* arguments, size_t count,
                             walle_app_answer_t* answer);
typedef struct walle_app_function_t {
  const char* name;
  walle_app_fn function;
  void* user;
} walle_app_function_t;

/* Set struct_size to sizeof(walle_device_options_t) and everything else to zero for the defaults, but for
 * vm_library, which has none. */
typedef struct walle_device_options_t {
  size_t struct_size;
  const char* vm_library;  /* libwalle_vm_device.so, or _full */
  uint32_t workers;        /* threads that run tasks, at most 64; 0: 2 */
  uint32_t ready_isolates; /* warm interpreters that wait for a task, 0.4 MB each; 0: 2 */
  uint32_t hot_tasks;      /* tasks that keep their interpreter between firings; 0: 32 */
  uint32_t cold_after_ms;  /* a task that was not called for so long gives it back; 0: 60,000 */
  uint32_t grace_ms;       /* beyond a phase's limit, until its thread is given up; 0: 1,000 */
  uint32_t no_background;  /* nonzero: no thread of its own; call walle_device_advance often */
  const void* key;         /* 32 bytes that seal what is written, copied; NULL: not sealed */
  size_t key_bytes;
  walle_device_log_t log; /* NULL: lines go to the log of the process */
  void* log_user;
  const walle_app_function_t* app; /* functions that are there before what waits begins; copied */
  size_t app_count;
} walle_device_options_t;

/* Opens the folder, or makes it, and takes up what was under way. */
WALLE_API walle_status_t walle_device_open(const char* path, const walle_device_options_t* options,
                                           walle_device_t** device, walle_error_t* error);
/* Ends the firings that run, leaves others for the next open, and writes everything. From then on every call
 * but walle_device_free is WALLE_ARGUMENT. To close once more does nothing. */
WALLE_API walle_status_t walle_device_close(walle_device_t* device, walle_error_t* error);
/* Closes it, if nobody has, and gives it up. */
WALLE_API void walle_device_free(walle_device_t* device);

/* ---- what may be recorded ---- */

/* Of a field of events: INT, FLOAT, BOOL, or TEXT of at most 16,384 bytes; of a column of a result table:
 * also BYTES. */
typedef enum walle_column_type_t {
  WALLE_COLUMN_INT = 0,
  WALLE_COLUMN_FLOAT = 1,
  WALLE_COLUMN_BOOL = 2,
  WALLE_COLUMN_TEXT = 3,
  WALLE_COLUMN_BYTES = 4
} walle_column_type_t;

/* How much a field says about a person: what a policy lets leave the device goes by it. */
typedef enum walle_sensitivity_t { WALLE_OPEN = 0, WALLE_PERSONAL = 1, WALLE_SECRET = 2 } walle_sensitivity_t;

typedef struct walle_field_t {
  const char* name;
  walle_column_type_t type;
  walle_sensitivity_t sensitivity;
} walle_field_t;

/* Declares an event, or adds fields to one that is declared; durable. The events page_enter, page_scroll,
 * exposure, click, page_exit, app_state and timer are there without fields, which may be added. What a task
 * declares in its manifest is there once it is installed. */
WALLE_API walle_status_t walle_device_declare(walle_device_t* device, const char* event,
                                              const walle_field_t* fields, size_t count,
                                              walle_error_t* error);
WALLE_API walle_status_t walle_device_declare_page(walle_device_t* device, const char* page,
                                                   walle_error_t* error);
WALLE_API walle_status_t walle_device_declare_state(walle_device_t* device, const char* state,
                                                    walle_error_t* error);

/* ---- who the device is to its server ---- */

/* Set struct_size to sizeof(walle_device_profile_t); NULL or "" is unknown. */
typedef struct walle_device_profile_t {
  size_t struct_size;
  const char* app;         /* "com.example.shop" */
  const char* app_version; /* "2.1.0" */
  const char* device_id;   /* needed: the id it enrolled with, or any that stays the same */
  const char* device;      /* the model: "Pixel 8" */
  const char* os;          /* "linux", "android", "ios", "macos", "windows"; NULL: the one of this build */
  const char* os_version;  /* "17.4" */
  const char* op_set;      /* ids of the operator set and the VM */
  const char* vm;
  uint64_t ram_mb;
  uint64_t epoch;  /* of the plan it went by */
  uint32_t active; /* digest of the decision it carried out last */
} walle_device_profile_t;

#define WALLE_DEVICE_HEADER_BYTES 49 /* 48 characters of base64url and a zero */

/* Writes what travels as the header X-Walle on any request of the app; a reply with X-Walle-Up asks the
 * device to come up to that epoch. Needs no device: an app that only talks to its service calls it, too. */
WALLE_API walle_status_t walle_profile_header(const walle_device_profile_t* profile,
                                              char text[WALLE_DEVICE_HEADER_BYTES], walle_error_t* error);

/* ---- events ---- */

/* A field and its value: WALLE_KIND_INT, FLOAT, BOOL or STR; an int is a float where a float is declared. */
typedef struct walle_content_t {
  const char* field;
  walle_vm_value_t value;
} walle_content_t;

/* Set struct_size to sizeof(walle_event_t). */
typedef struct walle_event_t {
  size_t struct_size;
  const char* name;
  const char* page; /* a declared page; for app_state a declared state; NULL or "": none */
  int64_t ts;       /* us since 1970; 0: now */
  uint32_t on;      /* of app_state: whether the state begins or ends */
  uint32_t durable; /* nonzero: it survives a power loss when the call returns; otherwise a killed process */
  const walle_content_t* contents;
  size_t count;
} walle_event_t;

/* Never waits for a task. *seq, unless seq is NULL, is the event's number. */
WALLE_API walle_status_t walle_device_record(walle_device_t* device, const walle_event_t* event,
                                             uint64_t* seq, walle_error_t* error);
/* Device time has reached `now` (us since 1970; 0: the clock's) without an event, and maintenance that is due
 * is done. Only needed with no_background. */
WALLE_API walle_status_t walle_device_advance(walle_device_t* device, int64_t now, walle_error_t* error);

/* ---- tasks ---- */

/* Installs a bundle (.wtask), or a package's manifest (.walp) whose files lie in the folder `blobs` beside
 * it, or replaces the task of its name: a firing that runs ends on the old version, the next one begins on
 * the new. Durable; after an error all is as before. */
WALLE_API walle_status_t walle_device_install(walle_device_t* device, const char* path, walle_error_t* error);
/* The same of bytes, which are copied. */
WALLE_API walle_status_t walle_device_install_data(walle_device_t* device, const void* data, size_t bytes,
                                                   walle_error_t* error);
/* Runs a function that the task's [call] names, on this thread, in the task's isolate and under its limits,
 * between two firings; at once where none is under way. Tensors and buffers share memory. `timeout` is in
 * seconds, for waiting and running together; 0: none of its own. On WALLE_OK `*result` is to be freed, else
 * it is NULL: WALLE_TASK where the function raised, WALLE_TIMEOUT, WALLE_ARGUMENT for other arguments than
 * declared, or from one of the device's own callbacks. */
WALLE_API walle_status_t walle_device_call(walle_device_t* device, const char* task, const char* function,
                                           const walle_vm_value_t* arguments, size_t count, double timeout,
                                           walle_vm_result_t** result, walle_error_t* error);
/* Sets values of a task's walle.params, a map by name, within what its [params] declare; one that is none
 * goes back to its default. All or nothing, durable, from the task's next firing on; what is not named stays.
 * A name or a value that the task does not declare is WALLE_ARGUMENT. */
WALLE_API walle_status_t walle_device_set_params(walle_device_t* device, const char* task,
                                                 const walle_vm_value_t* params, walle_error_t* error);
/* Lets tasks call a function as walle.app.NAME, where their [app] declares it, in place of the one of that
 * name; NULL: not any more. What firings need that waited since the last open is given in the options. */
WALLE_API walle_status_t walle_device_provide(walle_device_t* device, const char* name, walle_app_fn function,
                                              void* user, walle_error_t* error);
/* The answer of a function, copied, but for tensors and buffers, whose memory is shared. */
WALLE_API walle_status_t walle_app_return(walle_app_answer_t* answer, const walle_vm_value_t* value,
                                          walle_error_t* error);
/* Or that it has none: the task gets a RuntimeError with this text. */
WALLE_API walle_status_t walle_app_fail(walle_app_answer_t* answer, const char* text, walle_error_t* error);
/* The values of a feature that the task's [features] declares, behind the newest event: a list as long as
 * `keys`, of an int, a float, or none where a key has no event that counts. A key is a value, or a list of as
 * many as `by` has fields. On WALLE_OK `*result` is to be freed. A name, or a key of another type, is
 * WALLE_ARGUMENT. */
WALLE_API walle_status_t walle_device_features(walle_device_t* device, const char* task, const char* name,
                                               const walle_vm_value_t* keys, walle_vm_result_t** result,
                                               walle_error_t* error);
/* What waits is dropped; the tables stay. */
WALLE_API walle_status_t walle_device_remove(walle_device_t* device, const char* task, walle_error_t* error);
/* What holds on this device - "charging", "unmetered", "idle" ... - and what tasks with `requires` wait for.
 */
WALLE_API walle_status_t walle_device_set_fact(walle_device_t* device, const char* fact, int holds,
                                               walle_error_t* error);

/* Local time is `offset_us` ahead of UTC from `from_us` (us since 1970) on; the first one also before. */
typedef struct walle_utc_offset_t {
  int64_t from_us;
  int64_t offset_us;
} walle_utc_offset_t;

/* Local time, by which `daily` and `during` go, is another from now on: `count` offsets in order of time, at
 * most 1,024; one for a fixed offset. NULL and 0: the host's, asked anew - call it when the system says that
 * its zone has changed. A device begins with the host's at every open. Durable. */
WALLE_API walle_status_t walle_device_set_local_time(walle_device_t* device,
                                                     const walle_utc_offset_t* offsets, size_t count,
                                                     walle_error_t* error);

/* Strings belong to the list. */
typedef struct walle_task_info_t {
  const char* name;
  const char* version;
  const char* status; /* "idle", "queued", "running", "waiting" (for facts), "set aside", "broken" */
  const char* error;  /* the newest failure; of a task that was set aside or is broken, why; "" without one */
  uint64_t firings, failures; /* done since the device was opened */
  uint32_t failures_in_row;
  uint32_t hot; /* has an interpreter */
  uint64_t heap_bytes;
  uint64_t lost_workers; /* calls that could not be stopped */
  uint64_t waiting, dropped, coalesced;
  uint64_t retries;  /* attempts that failed and were put off, neither firings nor failures yet */
  uint64_t retrying; /* firings that wait to be tried again, and when the next is due, us; 0 without one */
  int64_t next_retry;
} walle_task_info_t;

/* A list of all tasks by name, as they are now. */
WALLE_API walle_status_t walle_device_tasks(walle_device_t* device, walle_device_tasks_t** tasks,
                                            walle_error_t* error);
WALLE_API size_t walle_device_tasks_count(const walle_device_tasks_t* tasks);
/* NULL beyond the last. */
WALLE_API const walle_task_info_t* walle_device_tasks_at(const walle_device_tasks_t* tasks, size_t index);
WALLE_API void walle_device_tasks_free(walle_device_tasks_t* tasks);

/* Something of a device that is gone, told at every open until it is acknowledged (docs/concepts/losses.md).
 * Strings belong to the list. */
typedef struct walle_loss_t {
  const char* what; /* "events", "rows", "sends", "commits", "settled", "tasks", "triggers", "budgets",
                       "accounts" or "kv" */
  const char* kind; /* "journal", "damaged_segment", "missing_segment", "quota", "age" or "manifest" */
  const char*
      name; /* the table, the stream, the task, or of events the reader; "" where it is the device's */
  uint64_t first, last; /* numbers of what is gone, both included; 0 where there are none */
  uint64_t count;       /* how many there were, or where `exact` is 0 the most that there can have been */
  int64_t noticed;      /* us since 1970; 0: at this open */
  const char* cause;
  uint32_t exact;
} walle_loss_t;

/* All of them, as they are known now. `verify`: reads segments of tables first, whose damage is otherwise
 * noticed when somebody reads them. */
WALLE_API walle_status_t walle_device_losses(walle_device_t* device, int verify,
                                             walle_device_losses_t** losses, walle_error_t* error);
WALLE_API size_t walle_device_losses_count(const walle_device_losses_t* losses);
/* NULL beyond the last. */
WALLE_API const walle_loss_t* walle_device_losses_at(const walle_device_losses_t* losses, size_t index);
WALLE_API void walle_device_losses_free(walle_device_losses_t* losses);
/* Forgets what walle_device_losses() tells now, durably; of "accounts" none, whose epsilon somebody has to
 * know: they stay closed until a program in Python says it. */
WALLE_API walle_status_t walle_device_acknowledge_losses(walle_device_t* device, walle_error_t* error);

/* ---- results ---- */

/* What one firing has come to. Everything it points to lives as long as the callback. */
typedef struct walle_task_result_t {
  const char* task;
  const char* version;
  uint64_t number; /* of the firing: 1, 2, 3 ... of the task */
  const char* trigger;
  uint64_t seq; /* of the event that completed it */
  int64_t ts;   /* of the match, us */
  int ok;
  const walle_vm_value_t* value; /* what the task returned; NULL without */
  const char* error;             /* "" when ok: task, version, phase, limit, line, in one text */
  const char* phase;             /* of a failure: "preprocess", "execute" ... */
  uint32_t rows, sends;          /* stored rows, features that wait to leave */
  int64_t preprocess_us, execute_us, postprocess_us, waited_us;
  uint32_t attempt; /* 1, 2 ... */
  int64_t retry_at; /* of a failure: when it is tried again, us; 0: it is not */
} walle_task_result_t;

/* Called from the worker threads when a firing's results are stored, for one task's firings in the order in
 * which they ran; its worker waits for it. It may record events and read tables; close, disconnect and wait,
 * which would wait for it, are WALLE_ARGUMENT there. NULL: nobody is called any more, once this returns and
 * callbacks under way have ended. A callback is not called again after a crash: what must not be missed is in
 * the tables. */
typedef void (*walle_device_result_fn)(void* user, const walle_task_result_t* result);
WALLE_API walle_status_t walle_device_on_result(walle_device_t* device, walle_device_result_fn callback,
                                                void* user, walle_error_t* error);

typedef struct walle_text_t {
  const char* data; /* a zero behind it besides */
  size_t size;
} walle_text_t;

/* One column of the rows that were read; arrays have an entry per row, 0 or "" where `present` is 0. */
typedef struct walle_column_t {
  const char* name;
  walle_column_type_t type;
  const uint8_t* present;
  const int64_t* ints;       /* of INT, otherwise NULL */
  const double* floats;      /* of FLOAT */
  const uint8_t* bools;      /* of BOOL: 0 or 1 */
  const walle_text_t* texts; /* of TEXT and BYTES */
} walle_column_t;

/* Rows of a task's table with numbers >= from, at most `limit` of them (0: all), oldest first. Row numbers
 * start at 1 and are never used twice, so that a reader goes on behind the last number it has seen. */
WALLE_API walle_status_t walle_device_read(walle_device_t* device, const char* task, const char* table,
                                           uint64_t from, uint64_t limit, walle_device_rows_t** rows,
                                           walle_error_t* error);
WALLE_API size_t walle_device_rows_count(const walle_device_rows_t* rows);
/* One number, and one time (us since 1970), per row. */
WALLE_API const uint64_t* walle_device_rows_numbers(const walle_device_rows_t* rows);
WALLE_API const int64_t* walle_device_rows_times(const walle_device_rows_t* rows);
WALLE_API size_t walle_device_rows_columns(const walle_device_rows_t* rows);
/* By position, or by name; NULL: there is none. Belongs to the rows. */
WALLE_API const walle_column_t* walle_device_rows_column(const walle_device_rows_t* rows, size_t index);
WALLE_API const walle_column_t* walle_device_rows_find(const walle_device_rows_t* rows, const char* name);
WALLE_API void walle_device_rows_free(walle_device_rows_t* rows);

/* Waits until no task is queued or running, at most timeout_ms; *idle says whether it came to that. Tasks
 * that wait for facts or are set aside do not count. */
WALLE_API walle_status_t walle_device_wait(walle_device_t* device, uint32_t timeout_ms, int* idle,
                                           walle_error_t* error);

/* ---- the server ---- */

/* Takes a piece of a reply's body; nonzero: no more is wanted, end the request. */
typedef int (*walle_http_sink_t)(void* sink, const void* data, size_t size);

typedef struct walle_http_request_t {
  size_t struct_size;
  const char* method; /* "GET" or "POST" */
  const char* url;
  uint64_t from;            /* of a GET: bytes from here on, "Range: bytes=FROM-"; 0: all */
  const char* content_type; /* of a POST */
  const void* body;
  size_t body_bytes;
  const char* const* headers; /* name, value, name, value ... */
  size_t header_count;        /* of pairs */
} walle_http_request_t;

/* The app's own HTTP stack. Returns the status of the reply, or 0 where there was none or it was cut off.
 * Gives the body to take() piece by piece: of 200 and 206 to a GET, of any 2xx and 429 to a POST; of a server
 * that answers 200 to a `from`, what lies before is left out. Called from one thread, which waits for it. */
typedef int (*walle_http_t)(void* user, const walle_http_request_t* request, walle_http_sink_t take,
                            void* sink);

/* The other end of a stream, and what TLS believes and shows: files of PEM in the device's folder. */
typedef struct walle_stream_peer_t {
  size_t struct_size;
  const char* host; /* whose name or address the peer's certificate must have */
  uint32_t port;
  uint32_t timeout_ms;     /* connect() returns within it */
  const char* authorities; /* who must have signed the peer's certificate: these and nobody else */
  const char* certificate; /* the device's own, and its key: the peer asks for them */
  const char* key;
} walle_stream_peer_t;

/* A connection over the app's own TLS 1.3 (Conscrypt, Network.framework, a socket that something else
 * protects), for the tunnel. `user` and the functions must last until the device is disconnected or closed,
 * which waits for the calls under way; there is one connection at a time.
 *
 * Threads: connect and close come from one thread. read comes from a second and write from a third, at the
 * same time; both may block as long as they like. cancel comes from any, also while the others run. In all of
 * them walle_device_close, walle_device_disconnect and walle_device_wait are WALLE_ARGUMENT. */
typedef struct walle_stream_t {
  size_t struct_size;
  void* user;
  /* A connection, authenticated; NULL: none, and `why`, of why_bytes with the zero, may say why. */
  void* (*connect)(void* user, const walle_stream_peer_t* peer, char* why, size_t why_bytes);
  /* Waits for a byte at least and returns how many it put into `to`; 0: the peer has closed; negative:
   * broken. */
  int64_t (*read)(void* user, void* connection, void* to, size_t size);
  /* Waits until a byte at least is taken and returns how many were; 0 or negative: broken. */
  int64_t (*write)(void* user, void* connection, const void* bytes, size_t size);
  /* Makes a read and a write under way, and later ones, return soon, with whatever. With NULL: a connect
   * under way, which then returns NULL; an app that cannot do that lets it run into its timeout. */
  void (*cancel)(void* user, void* connection);
  /* Once, behind the last call of a connection: it may be freed. */
  void (*close)(void* user, void* connection);
} walle_stream_t;

/* The device's own key by the app's cryptography, where the system has no OpenSSL: ECDSA on P-256. A key goes
 * by its PEM (PKCS #8, not encrypted), which lies in the device's folder; the functions keep nothing. `user`
 * and they must last until the device is closed. They come from the thread that connects and from one of the
 * device's own, and must not wait for it. What writes returns how many bytes it wrote, without a zero behind
 * them; 0 or negative: it could not. */
typedef struct walle_keys_t {
  size_t struct_size;
  void* user;
  /* A new key: its PEM. */
  int64_t (*make)(void* user, char* pem, size_t size);
  /* A certificate request for it (PKCS #10, PEM), signed by ECDSA with SHA-256; any name will do. */
  int64_t (*request)(void* user, const char* key, char* pem, size_t size);
  /* Whether a certificate (PEM) is of the key; 0: not, or one of them cannot be read. */
  int (*is_of)(void* user, const char* key, const char* certificate);
  /* The signature of a message: ECDSA with SHA-256, DER. */
  int64_t (*sign)(void* user, const char* key, const void* message, size_t bytes, void* signature,
                  size_t size);
} walle_keys_t;

/* Set struct_size to sizeof(walle_cloud_options_t); zero is the default where one is named. */
typedef struct walle_cloud_options_t {
  size_t struct_size;
  const char* url; /* of the server, "https://cloud.example.com" */
  const void*
      root; /* the bytes of its root.json, which came with the app; NULL: the one that enrolling brings */
  size_t root_bytes;
  const char* app;         /* names for policies: the app's, */
  const char* app_version; /* its version, "10.30.4", */
  const char* os_version;  /* "17.4", or NULL, */
  const char* device;      /* the device's model, or NULL */
  const char* enrol_code;  /* lets the device in, once; NULL where the folder has enrolled */
  const char* authorities; /* PEM file for libcurl; NULL: the system's */
  walle_http_t http;       /* NULL: libcurl, which must then be installed */
  void* http_user;
  uint32_t
      report_after_ms; /* a new version runs so long without a firing before the server is told; 0: 20,000 */
  uint32_t
      plain_enrolment; /* not 0: the code may go to another machine over http://, where others can read it */
  const char* broker;  /* of the tunnel, "mqtts://host:port"; NULL: the one that the server named when the
                          device enrolled, "": no tunnel */
  const walle_stream_t* stream; /* what carries the tunnel, copied; NULL: the system's OpenSSL */
  const walle_keys_t* keys;     /* what makes the device's key, copied; NULL: the system's OpenSSL */
} walle_cloud_options_t;

/* Follows a server, whose plans decide from now on which tasks run here; a thread pulls at once and when
 * there is news. What tasks send leaves on the tunnel, another thread, which connects by itself and tells the
 * first one of news. Waits for the network only where the device enrols. Once per open device. */
WALLE_API walle_status_t walle_device_connect(walle_device_t* device, const walle_cloud_options_t* options,
                                              walle_error_t* error);
/* Follows nobody any more; tasks stay. Closing does it, too. */
WALLE_API walle_status_t walle_device_disconnect(walle_device_t* device, walle_error_t* error);
/* The value of the header X-Walle for the app's next request, 48 characters and a zero. */
WALLE_API walle_status_t walle_device_header(walle_device_t* device, char text[WALLE_DEVICE_HEADER_BYTES],
                                             walle_error_t* error);
/* A header of a reply to the app: X-Walle-Up, in any case, makes the device pull if it tells of a newer plan.
 * Others cost nothing. */
WALLE_API walle_status_t walle_device_saw_header(walle_device_t* device, const char* name, const char* value,
                                                 walle_error_t* error);
/* Pulls now; does not wait for it. */
WALLE_API walle_status_t walle_device_pull(walle_device_t* device, walle_error_t* error);

/* Set struct_size to sizeof(walle_cloud_state_t). */
typedef struct walle_cloud_state_t {
  size_t struct_size;
  uint64_t epoch;         /* of the plan that is followed; 0: none yet */
  uint64_t pulls;         /* that have ended since connect */
  uint64_t reports;       /* that the server has not got yet */
  uint32_t pulling;       /* whether one is under way */
  char device_id[65];     /* at the server */
  char transport[64];     /* what carries requests: "libcurl", "the app's" */
  char error[512];        /* of the newest pull; "": it worked */
  char tunnel[16];        /* "offline", "connecting", "online", "refused" or "stopped"; "": there is none */
  uint64_t acknowledged;  /* records that the server holds durably, since connect */
  char tunnel_error[256]; /* of the newest connection of the tunnel that failed */
} walle_cloud_state_t;

WALLE_API walle_status_t walle_device_cloud(walle_device_t* device, walle_cloud_state_t* state,
                                            walle_error_t* error);

#ifdef __cplusplus
}
#endif

#endif /* WALLE_DEVICE_H */
