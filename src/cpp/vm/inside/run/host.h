/* Host: the table of what it answers, one for the process. */
#ifndef WALLE_VM_HOST_H
#define WALLE_VM_HOST_H

#include "vm/inside/run/state.h"

const wvm_host* wvm_host_table(void);
void wvm_set_host_table(const wvm_host* host); /* while the VM starts */

#endif
