// Result rows: what a task returned as rows of its tables: None is none, a dict is one row of the first
// table, a list of dicts several. A task without tables stores nothing; its value goes to on_result alone.
#pragma once

#include <span>
#include <vector>

#include "base/status.h"
#include "store/table_row.h"
#include "vm/abi.h"

namespace walle::container {

// Adds to `rows`, which is of the table that `decl` declares. An argument error names row and column; `rows`
// may then hold those before.
Status add_rows(const wvm_value& value, const store::TableDecl& decl, int64_t ts_us, store::TableRows& rows);

}  // namespace walle::container
