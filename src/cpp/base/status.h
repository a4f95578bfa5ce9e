// Errors as values: Status for "worked or not", Result<T> for "a value or why not".
//
// Nothing below the bindings throws on purpose. An Error says four things, because a message that lacks one
// of them sends its reader back to the source: what was given, what was expected, where, and one next step.
#pragma once

#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "base/text.h"

namespace walle::base {

enum class ErrorGroup { argument, model, resource, backend, task, network, internal, timeout, cancelled };

// What a language with many kinds of exceptions needs to know beyond the group; by_group where the group says
// it all.
enum class ErrorKind {
  by_group,
  wrong_type,
  no_such_key,
  no_such_index,
  overflow,
  no_memory,
  not_found,  // neither a key nor an index nor a file
  no_such_file,
  file_exists,
  not_permitted,
  timed_out,
  not_connected,
  not_supported,
};

struct ErrorText {
  std::string given;     // what was found, with the offending value
  std::string expected;  // what would have been accepted
  std::string where;     // operator, tensor, file offset, argument name
  std::string next;      // one thing the reader can do now
};

// One pointer wide, because every fallible function moves it: with its four strings inside, the moves alone
// were a fifth of link/ (each WALLE_TRY several hundred bytes of code that never runs). An error that was
// moved from, and the Status it was taken from, hold nothing any more.
class [[nodiscard]] Error {
 public:
  // Texts become UTF-8, whatever bytes they quote: Python would fail to decode the message and tell of that
  // instead, and quotes are cut to a length wherever it falls.
  Error(ErrorGroup group, ErrorText text);
  Error(const Error& other);
  Error(Error&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
  Error& operator=(const Error& other);
  Error& operator=(Error&& other) noexcept {
    std::swap(state_, other.state_);
    return *this;
  }
  ~Error() {
    if (state_ != nullptr) [[unlikely]]
      drop(state_);
  }

  ErrorGroup group() const;
  ErrorKind kind() const;
  const ErrorText& text() const;
  std::string message() const;

  // Adds an outer place ("node 'conv1' (Conv)") in front of the one already named.
  Error& within(Text outer);
  Error of_kind(ErrorKind kind) &&;

 private:
  friend class Status;
  struct State;
  Error() = default;  // no error: a Status that is ok
  const State& state() const;
  static void drop(State* state) noexcept;

  State* state_ = nullptr;
};

Error argument_error(Text given, Text expected, Text where, Text next);
Error model_error(Text given, Text expected, Text where, Text next);
Error resource_error(Text given, Text expected, Text where, Text next);
Error backend_error(Text given, Text expected, Text where, Text next);
Error task_error(Text given, Text expected, Text where, Text next);
Error timeout_error(Text given, Text expected, Text where, Text next);
// What came over the network, or did not: a server that does not answer, a reply that cannot be believed.
Error network_error(Text given, Text expected, Text where, Text next);
Error cancelled_error(Text given, Text where);
Error internal_error(Text given, Text where);

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Error error) : error_(std::move(error)) {}  // NOLINT: implicit on purpose, `return model_error(...)`

  bool ok() const { return error_.state_ == nullptr; }
  explicit operator bool() const { return ok(); }
  const Error& error() const { return error_; }
  Error& error() { return error_; }
  Error take_error() { return std::move(error_); }

 private:
  Error error_;
};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT: implicit on purpose
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit on purpose

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  const T& value() const& { return *std::get_if<0>(&state_); }
  T& value() & { return *std::get_if<0>(&state_); }
  T&& value() && { return std::move(*std::get_if<0>(&state_)); }
  const T& operator*() const& { return value(); }
  T& operator*() & { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  const T* operator->() const { return std::get_if<0>(&state_); }
  T* operator->() { return std::get_if<0>(&state_); }
  const Error& error() const { return *std::get_if<1>(&state_); }
  Error take_error() { return std::move(*std::get_if<1>(&state_)); }
  Status status() const { return ok() ? Status() : Status(error()); }

 private:
  std::variant<T, Error> state_;
};

}  // namespace walle::base

namespace walle {
using base::argument_error;
using base::backend_error;
using base::cancelled_error;
using base::Error;
using base::internal_error;
using base::model_error;
using base::network_error;
using base::resource_error;
using base::Result;
using base::Status;
using base::task_error;
using base::timeout_error;
}  // namespace walle

// Leaves the function with the error when `expr` (a Status or Result) failed.
#define WALLE_TRY(expr)                                          \
  do {                                                           \
    if (auto walle_try_ = (expr); !walle_try_.ok()) [[unlikely]] \
      return walle_try_.take_error();                            \
  } while (false)

#define WALLE_CONCAT_INNER_(a, b) a##b
#define WALLE_CONCAT_(a, b) WALLE_CONCAT_INNER_(a, b)

// WALLE_ASSIGN(auto shape, shape_of(x)): the value, or leave with the error.
#define WALLE_ASSIGN(lhs, expr) WALLE_ASSIGN_IMPL_(WALLE_CONCAT_(walle_result_, __LINE__), lhs, expr)
#define WALLE_ASSIGN_IMPL_(tmp, lhs, expr) \
  auto tmp = (expr);                       \
  if (!tmp.ok()) [[unlikely]]              \
    return tmp.take_error();               \
  lhs = std::move(tmp).value()
