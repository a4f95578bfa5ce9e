#include "container/host/firing_scope.h"

#include <algorithm>

#include "base/names.h"
#include "base/nearest_name.h"

namespace walle::container {

FiringScope::FiringScope(store::Tables& tables, std::vector<ScopeTable> declared, Env& env, size_t most_bytes)
    : tables_(tables), declared_(std::move(declared)), env_(env), most_bytes_(most_bytes) {}

Result<const ScopeTable*> FiringScope::find(std::string_view table) const {
  const auto found = std::ranges::find(declared_, table, &ScopeTable::name);
  if (found != declared_.end()) return &*found;
  std::vector<std::string> names;
  std::string all;
  for (const ScopeTable& t : declared_) {
    names.push_back(t.name);
    all += (all.empty() ? "" : ", ") + t.name;
  }
  return argument_error({"result table ", base::shown_name(table)},
                        all.empty() ? Text("a task that declares result tables") : Text{"one of: ", all},
                        "walle.results", base::did_you_mean(table, names, "declare it in task.toml"))
      .of_kind(base::ErrorKind::no_such_key);
}

size_t FiringScope::bytes() const {
  size_t total = 0;
  for (const auto& [name, rows] : rows_) total += rows.bytes.size();
  return total;
}

Status FiringScope::append(std::string_view table, std::span<const NamedCell> row) {
  WALLE_ASSIGN(const ScopeTable* known, find(table));
  std::vector<Cell> cells(known->decl.columns.size());
  for (const NamedCell& given : row) {
    WALLE_ASSIGN(const size_t at, store::column_at(known->decl, given.column));
    cells[at] = given.cell;
  }
  store::TableRows& rows = rows_.try_emplace(known->name).first->second;
  const size_t before = rows.bytes.size();
  WALLE_TRY(store::add_row(known->decl, env_.wall_us(), cells, rows));
  if (bytes() <= most_bytes_) return {};
  rows.bytes.resize(before);
  --rows.rows;
  return resource_error({"more than ", most_bytes_, " bytes of rows in one firing"},
                        {"at most ", most_bytes_}, {"result table '", known->name, "'"},
                        "append what sums them up, or spread them over several firings");
}

std::vector<store::TableRows> FiringScope::take() {
  std::vector<store::TableRows> out;
  for (auto& [name, rows] : rows_)
    if (rows.rows > 0) out.push_back(std::move(rows));
  rows_.clear();
  return out;
}

// The firing's rows with numbers from `from` on, up to `limit` in all.
Status FiringScope::add_own(const ScopeTable& table, uint64_t from, uint64_t limit,
                            store::TableColumns& out) const {
  const auto own = rows_.find(table.name);
  if (own == rows_.end()) return {};
  store::TableSegmentBuilder builder(table.decl);
  if (!builder.add(tables_.next_row(table.decl.name), own->second.columns, own->second.bytes))
    return internal_error("rows that do not read", "walle.results");
  const store::TableColumns& rows = builder.columns();
  const auto begin = std::ranges::lower_bound(rows.numbers, from) - rows.numbers.begin();
  const auto first = static_cast<size_t>(begin);
  store::append_rows(out, rows, first, first + std::min(rows.rows() - first, limit - out.rows()));
  return {};
}

Result<store::TableColumns> FiringScope::read(std::string_view table, uint64_t from, uint64_t limit) const {
  WALLE_ASSIGN(const ScopeTable* known, find(table));
  if (limit > kMostRead)
    return argument_error({"limit ", limit}, {"at most ", kMostRead}, "walle.results.read",
                          "read in several steps: start behind the last number");
  WALLE_ASSIGN(store::TableColumns out, tables_.read(known->decl.name, from, limit));
  WALLE_TRY(add_own(*known, from, limit, out));
  return out;
}

Result<store::TableColumns> FiringScope::last(std::string_view table, uint64_t count) const {
  WALLE_ASSIGN(const ScopeTable* known, find(table));
  if (count > kMostRead)
    return argument_error({"the last ", count, " rows"}, {"at most ", kMostRead}, "walle.results.last",
                          "use read()");
  const auto own = rows_.find(known->name);
  const uint64_t pending = own == rows_.end() ? 0 : own->second.rows;
  WALLE_ASSIGN(store::TableColumns out,
               tables_.last(known->decl.name, count > pending ? count - pending : 0));
  const uint64_t skipped = pending > count ? pending - count : 0;
  WALLE_TRY(add_own(*known, tables_.next_row(known->decl.name) + skipped, count, out));
  return out;
}

}  // namespace walle::container
