// FiringScope: what one firing of a task may read and leaves behind through walle.results: the rows that it
// has appended and that nobody else sees until the device commits them, or forgets them with a firing that
// failed.
//
// Set into the context by whoever takes the isolate (container/host/slots.h) and asked by the isolate's own
// thread; take() and forget() between two calls.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "store/tables.h"

namespace walle::container {

// A table as a task knows it: by its own name, while the device's tables have one name space.
struct ScopeTable {
  std::string name;       // "clicks"
  store::TableDecl decl;  // of "shop.clicks", with the columns that this version of the task declared
};

class FiringScope {
 public:
  // A firing's rows travel in one commit, which is a quarter of the device's journal at most.
  static constexpr size_t kMostBytes = 1 << 20;
  // Of one read: what a task makes lists of, it pays for from its heap.
  static constexpr uint64_t kMostRead = 65'536;

  FiringScope(store::Tables& tables, std::vector<ScopeTable> declared, Env& env,
              size_t most_bytes = kMostBytes);

  // All of the row or nothing. Errors of kind no_such_key and wrong_type name table, column and what was
  // expected.
  struct NamedCell {
    std::string_view column;
    Cell cell;
  };
  Status append(std::string_view table, std::span<const NamedCell> row);
  // Committed rows, then the firing's own; numbers of these are those that they will have.
  Result<store::TableColumns> read(std::string_view table, uint64_t from, uint64_t limit) const;
  Result<store::TableColumns> last(std::string_view table, uint64_t count) const;

  // For the commit, by table and in order; nothing is left.
  std::vector<store::TableRows> take();
  void forget() { rows_.clear(); }
  size_t bytes() const;

 private:
  Result<const ScopeTable*> find(std::string_view table) const;
  Status add_own(const ScopeTable& table, uint64_t from, uint64_t limit, store::TableColumns& out) const;

  store::Tables& tables_;
  std::vector<ScopeTable> declared_;
  Env& env_;
  size_t most_bytes_;
  std::map<std::string, store::TableRows, std::less<>> rows_;  // by the task's name
};

}  // namespace walle::container
