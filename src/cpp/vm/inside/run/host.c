#include "vm/inside/run/host.h"

static const wvm_host* host_table;

const wvm_host* wvm_host_table(void) { return host_table; }
void wvm_set_host_table(const wvm_host* host) { host_table = host; }
