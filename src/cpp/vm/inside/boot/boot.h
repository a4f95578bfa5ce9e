/* Starting the VM and its interpreters. */
#ifndef WALLE_VM_BOOT_H
#define WALLE_VM_BOOT_H

#include "vm/inside/run/state.h"

int wvm_start(const wvm_host* host, char* error, size_t error_size);
int wvm_prepare_interpreter(PyThreadState* thread);
PyThreadState* wvm_main_thread(void);

#endif
