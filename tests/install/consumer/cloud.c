/* An application whose device follows a server, over an HTTP stack of its own: `consumer_cloud VM_LIBRARY
 * FOLDER URL ROOT CODE`, and with `BROKER PORT` behind it a tunnel to that broker, over a stream of its own:
 * what does its TLS listens on PORT. Without arguments: checks that wrong calls are refused. Prints one line
 * per promise kept. */
#define _POSIX_C_SOURCE 200112L
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <walle/device.h>

static int bad;

static void promise(int kept, const char* what) {
  printf("%s  %s\n", kept ? "ok" : "FAILED", what);
  if (!kept) bad = 1;
}

static int fine(walle_status_t status, const walle_error_t* error) {
  if (status != WALLE_OK) printf("        %d: %s\n", (int)status, error->message);
  return status == WALLE_OK;
}

/* The call failed so, and its message has the word. */
static int refused(walle_status_t status, walle_status_t expected, const walle_error_t* error,
                   const char* word) {
  if (status == expected && strstr(error->message, word)) return 1;
  printf("        %d: %s\n", (int)status, status == WALLE_OK ? "" : error->message);
  return 0;
}

/* ---- the app's HTTP stack: one connection per request, the reply read to its end ---- */

typedef struct stack_t {
  const char *host, *port;
  int calls, posts, ranges;
  int broken; /* 1: no reply; 2: a reply that is none of this API's */
} stack_t;

static int send_all(int to, const char* data, size_t size) {
  while (size > 0) {
    const ssize_t sent = send(to, data, size, 0);
    if (sent <= 0) return 0;
    data += sent;
    size -= (size_t)sent;
  }
  return 1;
}

static int dial(const stack_t* stack) {
  struct addrinfo wanted, *found = NULL;
  int to = -1;
  memset(&wanted, 0, sizeof(wanted));
  wanted.ai_socktype = SOCK_STREAM;
  if (getaddrinfo(stack->host, stack->port, &wanted, &found) != 0) return -1;
  to = socket(found->ai_family, found->ai_socktype, found->ai_protocol);
  if (to >= 0 && connect(to, found->ai_addr, found->ai_addrlen) != 0) {
    close(to);
    to = -1;
  }
  freeaddrinfo(found);
  return to;
}

static int write_request(int to, const stack_t* stack, const walle_http_request_t* request) {
  static char head[16384];
  const char* path = strchr(strstr(request->url, "//") + 2, '/');
  size_t i;
  int n = snprintf(head, sizeof(head), "%s %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n", request->method,
                   path ? path : "/", stack->host);
  if (request->from)
    n += snprintf(head + n, sizeof(head) - (size_t)n, "Range: bytes=%llu-\r\n",
                  (unsigned long long)request->from);
  for (i = 0; i < request->header_count; ++i)
    n += snprintf(head + n, sizeof(head) - (size_t)n, "%s: %s\r\n", request->headers[2 * i],
                  request->headers[2 * i + 1]);
  if (request->content_type)
    n += snprintf(head + n, sizeof(head) - (size_t)n, "Content-Type: %s\r\nContent-Length: %zu\r\n",
                  request->content_type, request->body_bytes);
  n += snprintf(head + n, sizeof(head) - (size_t)n, "\r\n");
  return n < (int)sizeof(head) && send_all(to, head, (size_t)n) &&
         send_all(to, (const char*)request->body, request->body_bytes);
}

static int read_reply(int from, walle_http_sink_t take, void* sink) {
  static char reply[1 << 22];
  size_t size = 0;
  ssize_t got;
  char* body;
  int status;
  while (size < sizeof(reply) - 1 && (got = recv(from, reply + size, sizeof(reply) - 1 - size, 0)) > 0)
    size += (size_t)got;
  reply[size] = 0;
  body = strstr(reply, "\r\n\r\n");
  if (!body || sscanf(reply, "HTTP/1.1 %d", &status) != 1) return 0;
  body += 4;
  if (status / 100 == 2 && take(sink, body, size - (size_t)(body - reply)) != 0) return 0;
  return status;
}

static int http(void* user, const walle_http_request_t* request, walle_http_sink_t take, void* sink) {
  stack_t* stack = (stack_t*)user;
  int to, status = 0;
  ++stack->calls;
  if (request->struct_size < sizeof(*request)) return 0;
  stack->posts += strcmp(request->method, "POST") == 0;
  stack->ranges += request->from > 0;
  if (stack->broken == 1) return 0;
  if (stack->broken == 2) {
    take(sink, "{\"device\": 7}", 13);
    return 200;
  }
  to = dial(stack);
  if (to < 0) return 0;
  if (write_request(to, stack, request)) status = read_reply(to, take, sink);
  close(to);
  return status;
}

/* ---- the app's keys: one that is there already, of a server that reads no signatures ---- */

/* Of nobody. */
static const char own_key[] =
    "-----BEGIN PRIVATE KEY-----\n"
    "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg/DwkXT2HqJm+ty5v\n"
    "vBHw0uDNyBEjZYeC5f/MDpZ3apWhRANCAARjJG5mXpezo/k2MuuLoAjHwttX+UyC\n"
    "hK6OeoW++dA3957cjaFffGpuA4+dzFpo5irXLbNK74Vb0Mm9qNIgMwRK\n"
    "-----END PRIVATE KEY-----\n";
static const char own_request[] =
    "-----BEGIN CERTIFICATE REQUEST-----\n"
    "MIHMMHMCAQAwETEPMA0GA1UEAwwGZGV2aWNlMFkwEwYHKoZIzj0CAQYIKoZIzj0D\n"
    "AQcDQgAEYyRuZl6Xs6P5NjLri6AIx8LbV/lMgoSujnqFvvnQN/ee3I2hX3xqbgOP\n"
    "ncxaaOYq1y2zSu+FW9DJvajSIDMESqAAMAoGCCqGSM49BAMCA0kAMEYCIQC+JeHM\n"
    "aDdmTE8haI48N48XawnvvIA7u0fStHBTIlD8xgIhAJ49hdyT4l25r0cUheh/zdoA\n"
    "ihBsMMjxHqiSmEeecwtl\n"
    "-----END CERTIFICATE REQUEST-----\n";

typedef struct own_keys_t {
  int made, requests, looks, signatures;
  int broken; /* 1: makes none; 2: more than there is room for */
} own_keys_t;

static int64_t text_into(char* to, size_t size, const char* text) {
  const size_t length = strlen(text);
  if (length > size) return -1;
  memcpy(to, text, length);
  return (int64_t)length;
}

static int64_t make_key(void* user, char* pem, size_t size) {
  own_keys_t* keys = (own_keys_t*)user;
  ++keys->made;
  if (keys->broken == 1) return -1;
  if (keys->broken == 2) return (int64_t)size + 1;
  return text_into(pem, size, own_key);
}

static int64_t request_of(void* user, const char* key, char* pem, size_t size) {
  ++((own_keys_t*)user)->requests;
  return strcmp(key, own_key) == 0 ? text_into(pem, size, own_request) : -1;
}

static int is_of(void* user, const char* key, const char* certificate) {
  ++((own_keys_t*)user)->looks;
  return strcmp(key, own_key) == 0 && strstr(certificate, "BEGIN CERTIFICATE") != NULL;
}

static int64_t sign_with(void* user, const char* key, const void* message, size_t bytes, void* signature,
                         size_t size) {
  ++((own_keys_t*)user)->signatures;
  if (strcmp(key, own_key) != 0 || bytes < 9 || memcmp(message, "walle-v1\n", 9) != 0) return -1;
  return text_into((char*)signature, size, "a signature");
}

static own_keys_t held = {0, 0, 0, 0, 0};

static walle_keys_t keys_of_app(void) {
  walle_keys_t keys;
  memset(&keys, 0, sizeof(keys));
  keys.struct_size = sizeof(keys);
  keys.user = &held;
  keys.make = make_key;
  keys.request = request_of;
  keys.is_of = is_of;
  keys.sign = sign_with;
  return keys;
}

/* ---- promises ---- */

static void refuses_null(void) {
  walle_error_t error;
  walle_cloud_state_t state;
  char text[WALLE_DEVICE_HEADER_BYTES];
  memset(&state, 0, sizeof(state));
  state.struct_size = sizeof(state);
  memset(text, 'x', sizeof(text));
  promise(refused(walle_device_connect(NULL, NULL, &error), WALLE_ARGUMENT, &error, "device"),
          "no device connects");
  promise(refused(walle_device_header(NULL, text, &error), WALLE_ARGUMENT, &error, "device") && text[0] == 0,
          "no device has a header, and the text says so");
  promise(refused(walle_device_header(NULL, NULL, &error), WALLE_ARGUMENT, &error, "text"),
          "a header needs a place");
  promise(refused(walle_device_saw_header(NULL, "X-Walle-Up", "7", &error), WALLE_ARGUMENT, &error, "device"),
          "no device sees a reply");
  promise(walle_device_saw_header(NULL, "Content-Type", "text/plain", &error) == WALLE_OK,
          "other headers cost nothing");
  promise(
      refused(walle_device_saw_header(NULL, NULL, "7", &error), WALLE_ARGUMENT, &error, "name") &&
          refused(walle_device_saw_header(NULL, "X-Walle-Up", NULL, &error), WALLE_ARGUMENT, &error, "value"),
      "a header has a name and a value");
  promise(refused(walle_device_pull(NULL, &error), WALLE_ARGUMENT, &error, "device"), "no device pulls");
  promise(refused(walle_device_cloud(NULL, &state, &error), WALLE_ARGUMENT, &error, "device"),
          "no device has a state");
  promise(refused(walle_device_cloud(NULL, NULL, &error), WALLE_ARGUMENT, &error, "state"),
          "a state needs a place");
  promise(refused(walle_device_disconnect(NULL, &error), WALLE_ARGUMENT, &error, "device"),
          "no device disconnects");
  promise(walle_device_pull(NULL, NULL) == WALLE_ARGUMENT, "nobody has to ask why");
}

static void tells_who_it_is(void) {
  walle_error_t error;
  walle_device_profile_t profile;
  char text[WALLE_DEVICE_HEADER_BYTES + 1], again[WALLE_DEVICE_HEADER_BYTES];
  memset(&profile, 0, sizeof(profile));
  memset(text, '#', sizeof(text));
  promise(refused(walle_profile_header(NULL, text, &error), WALLE_ARGUMENT, &error, "profile") &&
              refused(walle_profile_header(&profile, NULL, &error), WALLE_ARGUMENT, &error, "text"),
          "a profile and a place are needed");
  promise(refused(walle_profile_header(&profile, text, &error), WALLE_ARGUMENT, &error, "struct_size"),
          "a profile without its size is refused");
  profile.struct_size = (size_t)1 << 40;
  promise(refused(walle_profile_header(&profile, text, &error), WALLE_ARGUMENT, &error, "struct_size"),
          "so is one of a size that none has");
  profile.struct_size = sizeof(profile);
  promise(refused(walle_profile_header(&profile, text, &error), WALLE_ARGUMENT, &error, "device_id"),
          "a profile names its device");
  profile.device_id = "d-1";
  profile.app = "com.example.shop";
  profile.app_version = "not a version";
  promise(refused(walle_profile_header(&profile, text, &error), WALLE_ARGUMENT, &error, "app_version") &&
              text[0] == '#',
          "a version that is none is named, and nothing is written");
  profile.app_version = "10.30.4";
  profile.os = "lunix";
  promise(refused(walle_profile_header(&profile, text, &error), WALLE_ARGUMENT, &error, "linux"),
          "a system that is none is told what may have been meant");
  profile.os = NULL;
  promise(fine(walle_profile_header(&profile, text, &error), &error) &&
              strlen(text) == WALLE_DEVICE_HEADER_BYTES - 1 && text[WALLE_DEVICE_HEADER_BYTES] == '#' &&
              strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") == 48,
          "a header is 48 characters and a zero");
  profile.device_id = "d-2";
  promise(fine(walle_profile_header(&profile, again, &error), &error) && strcmp(text, again) != 0,
          "another device has another");
  profile.device_id = "d-1";
  profile.active = 5;
  profile.struct_size = offsetof(walle_device_profile_t, op_set); /* of an older header */
  promise(fine(walle_profile_header(&profile, again, &error), &error) && strcmp(text, again) == 0,
          "what lies beyond struct_size is not read");
}

static void sleep_ms(int ms) {
  struct timespec pause;
  pause.tv_sec = ms / 1000;
  pause.tv_nsec = (long)(ms % 1000) * 1000000L;
  nanosleep(&pause, NULL);
}

/* Until that many pulls have ended, at most 20 s. */
static int pulled(walle_device_t* device, uint64_t count, walle_cloud_state_t* state) {
  walle_error_t error;
  int i;
  for (i = 0; i < 1000; ++i) {
    state->struct_size = sizeof(*state);
    if (!fine(walle_device_cloud(device, state, &error), &error)) return 0;
    if (state->pulls >= count && !state->pulling) return 1;
    sleep_ms(20);
  }
  printf("        %llu pulls: %s\n", (unsigned long long)state->pulls, state->error);
  return 0;
}

static void refuses_servers(walle_device_t* device, const walle_cloud_options_t* good, stack_t* stack) {
  walle_error_t error;
  walle_cloud_options_t options = *good;
  char text[WALLE_DEVICE_HEADER_BYTES];
  promise(refused(walle_device_header(device, text, &error), WALLE_ARGUMENT, &error, "not connected") &&
              refused(walle_device_pull(device, &error), WALLE_ARGUMENT, &error, "walle_device_connect"),
          "a device that follows nobody says so");
  promise(refused(walle_device_connect(device, NULL, &error), WALLE_ARGUMENT, &error, "options"),
          "options are needed");
  options.struct_size = 0;
  promise(refused(walle_device_connect(device, &options, &error), WALLE_ARGUMENT, &error, "struct_size"),
          "and their size");
  options = *good;
  options.app = NULL;
  promise(refused(walle_device_connect(device, &options, &error), WALLE_ARGUMENT, &error, "app"),
          "and the app's name");
  options = *good;
  options.url = "ftp://example.com";
  promise(refused(walle_device_connect(device, &options, &error), WALLE_ARGUMENT, &error, "url"),
          "an address is one of HTTP");
  options = *good;
  options.app_version = "new";
  stack->broken = 1;
  promise(
      refused(walle_device_connect(device, good, &error), WALLE_NETWORK, &error, "reply") && stack->calls > 0,
      "a server that is not there is an error of the network");
  stack->broken = 2;
  promise(refused(walle_device_connect(device, good, &error), WALLE_NETWORK, &error, "lacks"),
          "so is a reply that is none");
  stack->broken = 0;
  options = *good;
  options.enrol_code = NULL;
  promise(refused(walle_device_connect(device, &options, &error), WALLE_ARGUMENT, &error, "code"),
          "who has not enrolled needs a code");
  options.enrol_code = "another-code";
  promise(refused(walle_device_connect(device, &options, &error), WALLE_NETWORK, &error, "code"),
          "that the server knows");
  promise(walle_device_cloud(device, NULL, NULL) == WALLE_ARGUMENT, "it still follows nobody");
}

/* A device that has no key yet, and keys that are none. */
static void refuses_keys(walle_device_t* device, const walle_cloud_options_t* good) {
  walle_error_t error;
  walle_cloud_options_t options = *good;
  walle_keys_t keys = keys_of_app();
  options.keys = &keys;
  keys.struct_size = 0;
  promise(refused(walle_device_connect(device, &options, &error), WALLE_ARGUMENT, &error, "walle_keys_t"),
          "keys have a size");
  keys = keys_of_app();
  keys.sign = NULL;
  promise(refused(walle_device_connect(device, &options, &error), WALLE_ARGUMENT, &error, "sign"),
          "and all of their functions");
  keys = keys_of_app();
  held.broken = 1;
  promise(refused(walle_device_connect(device, &options, &error), WALLE_RESOURCE, &error, "make()"),
          "a key that cannot be made is an error");
  held.broken = 2;
  promise(refused(walle_device_connect(device, &options, &error), WALLE_RESOURCE, &error, "make()"),
          "so is one that is too long");
  held.broken = 0;
  promise(held.made == 2 && held.requests == 0, "and the code was not sent");
}

static void follows(walle_device_t* device, const walle_cloud_options_t* options, stack_t* stack) {
  walle_error_t error;
  walle_cloud_state_t state;
  walle_device_tasks_t* tasks = NULL;
  char text[WALLE_DEVICE_HEADER_BYTES];
  uint64_t before;
  memset(&state, 0, sizeof(state));
  promise(fine(walle_device_connect(device, options, &error), &error) && stack->posts > 0,
          "the device enrols and follows");
  promise(held.made == 3 && held.requests >= 1 && held.looks >= 1, "with a key of the app's");
  promise(refused(walle_device_connect(device, options, &error), WALLE_ARGUMENT, &error, "is connected"),
          "once");
  promise(pulled(device, 1, &state) && strcmp(state.error, "") == 0 && state.epoch == 1,
          "it pulls by itself");
  promise(strcmp(state.device_id, "d-1") == 0 && strcmp(state.transport, "the app's") == 0 &&
              strcmp(state.tunnel, "") == 0,
          "the state tells who it is, what carries requests, and that there is no tunnel");
  promise(fine(walle_device_tasks(device, &tasks, &error), &error) && walle_device_tasks_count(tasks) == 1 &&
              strcmp(walle_device_tasks_at(tasks, 0)->name, "shop") == 0,
          "the task is there");
  walle_device_tasks_free(tasks);
  promise(fine(walle_device_header(device, text, &error), &error) && strlen(text) == 48,
          "the header of a request is there");
  before = state.pulls;
  promise(fine(walle_device_saw_header(device, "x-walle-up", "not a number", &error), &error) &&
              fine(walle_device_saw_header(device, "X-Walle-Up", "1", &error), &error) &&
              fine(walle_device_saw_header(device, "Content-Type", "7", &error), &error),
          "replies are seen");
  sleep_ms(300);
  promise(pulled(device, before, &state) && state.pulls == before, "what tells nothing new starts no pull");
  promise(fine(walle_device_saw_header(device, "x-WALLE-up", "7", &error), &error) &&
              pulled(device, before + 1, &state),
          "a newer plan does");
  before = state.pulls;
  promise(fine(walle_device_pull(device, &error), &error) && pulled(device, before + 1, &state),
          "and so does the app");
  memset(&state, '#', sizeof(state));
  state.struct_size = offsetof(walle_cloud_state_t, reports);
  promise(fine(walle_device_cloud(device, &state, &error), &error) && state.epoch == 1 &&
              ((const char*)&state)[offsetof(walle_cloud_state_t, reports)] == '#',
          "a smaller state is filled to its end and no further");
  state.struct_size = 3;
  promise(refused(walle_device_cloud(device, &state, &error), WALLE_ARGUMENT, &error, "struct_size"),
          "one without room for its size is refused");
}

static void tries_a_tunnel(walle_device_t* device, const walle_cloud_options_t* good) {
  walle_error_t error;
  walle_cloud_state_t state;
  walle_cloud_options_t options = *good;
  int i;
  options.enrol_code = NULL; /* the folder has enrolled */
  options.broker = "mqtt://127.0.0.1:1883";
  promise(refused(walle_device_connect(device, &options, &error), WALLE_ARGUMENT, &error, "mqtts://"),
          "there is no tunnel without TLS");
  promise(walle_device_pull(device, NULL) == WALLE_ARGUMENT, "and then the device follows nobody");
  options.broker = "mqtts://127.0.0.1:1"; /* where nobody listens */
  promise(fine(walle_device_connect(device, &options, &error), &error), "a broker that is away is no error");
  memset(&state, 0, sizeof(state));
  for (i = 0; i < 500 && !state.tunnel_error[0]; ++i) {
    state.struct_size = sizeof(state);
    if (!fine(walle_device_cloud(device, &state, &error), &error)) break;
    sleep_ms(20);
  }
  promise(strcmp(state.tunnel, "offline") == 0 || strcmp(state.tunnel, "connecting") == 0,
          "the tunnel is not open");
  promise(strstr(state.tunnel_error, "127.0.0.1") != NULL && state.acknowledged == 0, "and says why");
  promise(fine(walle_device_disconnect(device, &error), &error), "both end");
}

/* ---- the app's stream: a socket to the process beside it that does TLS ---- */

typedef struct stream_t {
  const char* port;
  int connects, closes, cancels, refusals;
} stream_t;

typedef struct connection_t {
  int socket;
} connection_t;

static void* stream_connect(void* user, const walle_stream_peer_t* peer, char* why, size_t why_bytes) {
  stream_t* stream = (stream_t*)user;
  stack_t beside = {"127.0.0.1", NULL, 0, 0, 0, 0};
  connection_t* made;
  char text[4096], answer = 'n';
  int to, n;
  ++stream->connects;
  if (stream->refusals > 0) {
    --stream->refusals;
    snprintf(why, why_bytes, "the platform says no to %s", peer->host);
    return NULL;
  }
  beside.port = stream->port;
  to = dial(&beside);
  if (to < 0) return NULL;
  n = snprintf(text, sizeof(text), "%s\n%u\n%s\n%s\n%s\n", peer->host, (unsigned)peer->port,
               peer->authorities, peer->certificate, peer->key);
  if (!send_all(to, text, (size_t)n) || recv(to, &answer, 1, 0) != 1 || answer != 'y') {
    close(to);
    return NULL;
  }
  made = (connection_t*)malloc(sizeof(*made));
  made->socket = to;
  return made;
}

static int64_t stream_read(void* user, void* connection, void* to, size_t size) {
  (void)user;
  return recv(((connection_t*)connection)->socket, to, size > 3 ? 3 : size, 0); /* short reads */
}

static int64_t stream_write(void* user, void* connection, const void* bytes, size_t size) {
  (void)user;
  return send(((connection_t*)connection)->socket, bytes, size, MSG_NOSIGNAL);
}

static void stream_cancel(void* user, void* connection) {
  ++((stream_t*)user)->cancels;
  if (connection) shutdown(((connection_t*)connection)->socket, SHUT_RDWR);
}

static void stream_close(void* user, void* connection) {
  ++((stream_t*)user)->closes;
  close(((connection_t*)connection)->socket);
  free(connection);
}

/* Until the tunnel is in that state, at most 20 s. */
static int tunnel_is(walle_device_t* device, const char* wanted, walle_cloud_state_t* state) {
  walle_error_t error;
  int i;
  for (i = 0; i < 1000; ++i) {
    state->struct_size = sizeof(*state);
    if (!fine(walle_device_cloud(device, state, &error), &error)) return 0;
    if (strcmp(state->tunnel, wanted) == 0) return 1;
    sleep_ms(20);
  }
  printf("        %s: %s\n", state->tunnel, state->tunnel_error);
  return 0;
}

static void tunnels_by_itself(walle_device_t* device, const walle_cloud_options_t* good, const char* broker,
                              const char* port) {
  walle_error_t error;
  walle_cloud_state_t state;
  walle_cloud_options_t options = *good;
  walle_stream_t stream;
  stream_t seen = {port, 0, 0, 0, 1};
  memset(&state, 0, sizeof(state));
  memset(&stream, 0, sizeof(stream));
  options.enrol_code = NULL;
  options.broker = broker;
  options.stream = &stream;
  promise(refused(walle_device_connect(device, &options, &error), WALLE_ARGUMENT, &error, "struct_size"),
          "a stream has a size");
  stream.struct_size = sizeof(stream);
  stream.user = &seen;
  stream.connect = stream_connect;
  stream.read = stream_read;
  stream.write = stream_write;
  stream.close = stream_close;
  promise(refused(walle_device_connect(device, &options, &error), WALLE_ARGUMENT, &error, "cancel"),
          "and all of its functions");
  stream.cancel = stream_cancel;
  promise(fine(walle_device_connect(device, &options, &error), &error) && tunnel_is(device, "online", &state),
          "the tunnel opens over the app's stream");
  promise(seen.connects == 2 && seen.closes == 0, "at the second time: the first one was refused");
  promise(fine(walle_device_disconnect(device, &error), &error), "it ends");
  promise(seen.closes == 1 && seen.cancels >= 1, "and closes what it opened");
}

static void lives(int count, char** arguments) {
  walle_keys_t keys = keys_of_app();
  static char root[65536];
  walle_error_t error;
  walle_device_options_t options;
  walle_cloud_options_t cloud;
  walle_device_t* device = NULL;
  walle_cloud_state_t state;
  static char host[256];
  char text[WALLE_DEVICE_HEADER_BYTES];
  stack_t stack = {host, NULL, 0, 0, 0, 0};
  FILE* file = fopen(arguments[4], "rb");
  char* colon;
  memset(&options, 0, sizeof(options));
  memset(&cloud, 0, sizeof(cloud));
  memset(&state, 0, sizeof(state));
  state.struct_size = sizeof(state);
  snprintf(host, sizeof(host), "%s", strstr(arguments[3], "//") + 2);
  colon = strchr(host, ':');
  *colon = 0;
  stack.port = colon + 1;
  cloud.root_bytes = file ? fread(root, 1, sizeof(root), file) : 0;
  if (file) fclose(file);
  options.struct_size = sizeof(options);
  options.vm_library = arguments[1];
  promise(fine(walle_device_open(arguments[2], &options, &device, &error), &error), "the folder is a device");
  if (!device) return;
  cloud.struct_size = sizeof(cloud);
  cloud.url = arguments[3];
  cloud.root = root;
  cloud.app = "com.example.shop";
  cloud.app_version = "1.0.0";
  cloud.enrol_code = arguments[5];
  cloud.http = http;
  cloud.http_user = &stack;
  refuses_keys(device, &cloud);
  cloud.keys = &keys;
  refuses_servers(device, &cloud, &stack);
  follows(device, &cloud, &stack);
  promise(fine(walle_device_disconnect(device, &error), &error) &&
              fine(walle_device_disconnect(device, &error), &error),
          "it follows nobody any more, twice");
  promise(refused(walle_device_cloud(device, &state, &error), WALLE_ARGUMENT, &error, "not connected") &&
              refused(walle_device_header(device, text, &error), WALLE_ARGUMENT, &error, "not connected"),
          "and tells nothing");
  tries_a_tunnel(device, &cloud);
  if (count == 8) tunnels_by_itself(device, &cloud, arguments[6], arguments[7]);
  cloud.enrol_code = NULL;
  promise(fine(walle_device_connect(device, &cloud, &error), &error), "it follows again, without a code");
  promise(fine(walle_device_close(device, &error), &error), "closing ends that");
  promise(refused(walle_device_pull(device, &error), WALLE_ARGUMENT, &error, "not connected") &&
              refused(walle_device_connect(device, &cloud, &error), WALLE_ARGUMENT, &error, "closed"),
          "a closed device follows nobody");
  walle_device_free(device);
}

int main(int count, char** arguments) {
  if (count == 6 || count == 8) {
    lives(count, arguments);
  } else {
    refuses_null();
    tells_who_it_is();
  }
  return bad;
}
