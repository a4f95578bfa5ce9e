/* Build tool: compiles the library's sources into one container with the VM's own compiler, so that the
 * host's Python version does not matter.    freeze LIST OUT */
#include "vm/inside/boot/boot.h"
#include "vm/inside/code/bundle.h"

const unsigned char wvm_library_data[] =
    "WVMB\1\0\0\0cpython-3.13.5/walle-2\0\0\0\0\0\0\0\0\0\0"
    "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
const size_t wvm_library_size = 60;

enum { kMaxSources = 256 };

static char* read_file(const char* path, size_t* size) {
  FILE* file = fopen(path, "rb");
  if (file == NULL) return NULL;
  fseek(file, 0, SEEK_END);
  const long length = ftell(file);
  rewind(file);
  char* text = malloc((size_t)length + 1);
  *size = fread(text, 1, (size_t)length, file);
  text[*size] = 0;
  fclose(file);
  return text;
}

static size_t read_list(const char* path, wvm_source* sources) {
  static char name[256], file[4096], shown[300];
  FILE* list = fopen(path, "r");
  size_t count = 0;
  int is_package = 0;
  while (list != NULL && count < kMaxSources &&
         fscanf(list, "%255s %4095s %d", name, file, &is_package) == 3) {
    wvm_source* source = &sources[count++];
    snprintf(shown, sizeof shown, "<%s>", name);
    source->name = strdup(name);
    source->file = strdup(shown);
    source->is_package = is_package;
    source->text = read_file(file, &source->size);
    if (source->text == NULL) return 0;
  }
  if (list != NULL) fclose(list);
  return count;
}

int main(int argc, char** argv) {
  static wvm_source sources[kMaxSources];
  static const wvm_host host;
  char error[256];
  const size_t count = argc == 3 ? read_list(argv[1], sources) : 0;
  if (count == 0) {
    fputs("usage: freeze LIST OUT (the list is missing or names a missing file)\n", stderr);
    return 2;
  }
  if (wvm_start(&host, error, sizeof error) < 0) {
    fprintf(stderr, "%s\n", error);
    return 1;
  }
  PyEval_RestoreThread(wvm_main_thread());
  wvm_blob blob;
  if (wvm_write_container(sources, count, 1, &blob) < 0) {
    PyErr_Print();
    PyObject* exception = PyErr_GetRaisedException();
    if (exception) PyObject_Print(exception, stderr, 0);
    return 1;
  }
  FILE* out = fopen(argv[2], "wb");
  const int ok = out != NULL && fwrite(blob.data, 1, blob.size, out) == blob.size && fclose(out) == 0;
  return ok ? 0 : 1;
}
