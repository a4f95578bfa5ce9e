// Counts what a program executes in qemu's user emulator: one 64-bit number in a file that the program may
// map (clock.c), of instructions begun by all its threads. A block counts whole when it is entered, so where
// a program reads the number it is the same in every run.
//
// qemu-aarch64 -plugin counter.so,page=FILE PROGRAM. Debian's qemu-user; the static one has no plugins.
// The declarations are of qemu's plugin interface, versions 1 and 2 (qemu 4.2 to 8.2), whose header Debian
// leaves out. Threads add without a lock: counts are exact of programs whose work is one thread's.
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef uint64_t qemu_plugin_id_t;
struct qemu_plugin_tb;
enum qemu_plugin_op { QEMU_PLUGIN_INLINE_ADD_U64 };
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb* block);
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id,
                                           void (*call)(qemu_plugin_id_t, struct qemu_plugin_tb*));
void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb* block, enum qemu_plugin_op op,
                                              void* number, uint64_t amount);

__attribute__((visibility("default"))) int qemu_plugin_version = 1;

static uint64_t* count;

static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb* block) {
  (void)id;
  qemu_plugin_register_vcpu_tb_exec_inline(block, QEMU_PLUGIN_INLINE_ADD_U64, count,
                                           qemu_plugin_tb_n_insns(block));
}

__attribute__((visibility("default"))) int qemu_plugin_install(qemu_plugin_id_t id, const void* info,
                                                               int argc, char** argv) {
  (void)info;
  if (argc != 1 || strncmp(argv[0], "page=", 5) != 0) return -1;
  const int file = open(argv[0] + 5, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0 || ftruncate(file, sizeof *count) != 0) return -1;
  count = mmap(NULL, sizeof *count, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (count == MAP_FAILED) return -1;
  qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
  return 0;
}
