#include "base/status.h"

#include "base/utf8.h"

namespace walle::base {

struct Error::State {
  ErrorGroup group = ErrorGroup::internal;
  ErrorKind kind = ErrorKind::by_group;
  ErrorText text;
};

Error::Error(ErrorGroup group, ErrorText text) : state_(new State{.group = group, .text = std::move(text)}) {
  for (std::string* part :
       {&state_->text.given, &state_->text.expected, &state_->text.where, &state_->text.next})
    *part = repaired_utf8(std::move(*part));
}

Error::Error(const Error& other) : state_(other.state_ == nullptr ? nullptr : new State(*other.state_)) {}

Error& Error::operator=(const Error& other) {
  Error copy(other);
  std::swap(state_, copy.state_);
  return *this;
}

void Error::drop(State* state) noexcept { delete state; }

// Whoever reads an error that was moved from has a fault of its own; it must not become a crash.
const Error::State& Error::state() const {
  static const State taken{.text = {.given = "an error that was handed on already"}};
  return state_ == nullptr ? taken : *state_;
}

ErrorGroup Error::group() const { return state().group; }
ErrorKind Error::kind() const { return state().kind; }
const ErrorText& Error::text() const { return state().text; }

Error Error::of_kind(ErrorKind kind) && {
  if (state_ != nullptr) state_->kind = kind;
  return std::move(*this);
}

// In this order, because logs cut the end of long lines: what was given must survive.
std::string Error::message() const {
  const auto& [given, expected, where, next] = text();
  std::string out = given;
  if (!expected.empty()) out += "; expected " + expected;
  if (!where.empty()) out += " [at " + where + "]";
  if (!next.empty()) out += ". Next: " + next;
  return out;
}

Error& Error::within(Text outer) {
  if (state_ == nullptr) return *this;
  // From the outside in, as a path is read.
  const std::string place = repaired_utf8(outer.str());
  std::string& where = state_->text.where;
  where = where.empty() ? place : place + ", " + where;
  return *this;
}

namespace {
Error make(ErrorGroup group, Text given, Text expected, Text where, Text next) {
  return Error(group,
               {.given = given.str(), .expected = expected.str(), .where = where.str(), .next = next.str()});
}
}  // namespace

Error argument_error(Text given, Text expected, Text where, Text next) {
  return make(ErrorGroup::argument, given, expected, where, next);
}
Error model_error(Text given, Text expected, Text where, Text next) {
  return make(ErrorGroup::model, given, expected, where, next);
}
Error resource_error(Text given, Text expected, Text where, Text next) {
  return make(ErrorGroup::resource, given, expected, where, next);
}
Error backend_error(Text given, Text expected, Text where, Text next) {
  return make(ErrorGroup::backend, given, expected, where, next);
}
Error task_error(Text given, Text expected, Text where, Text next) {
  return make(ErrorGroup::task, given, expected, where, next);
}
Error timeout_error(Text given, Text expected, Text where, Text next) {
  return make(ErrorGroup::timeout, given, expected, where, next);
}
Error network_error(Text given, Text expected, Text where, Text next) {
  return make(ErrorGroup::network, given, expected, where, next);
}
Error cancelled_error(Text given, Text where) {
  return make(ErrorGroup::cancelled, given, "a run that is left alone", where,
              "run again when the result is wanted: the session can be used as before");
}
// Expected and next are the same for all: the reader cannot mend it, only report it.
Error internal_error(Text given, Text where) {
  return make(ErrorGroup::internal, given, "an invariant of the runtime to hold", where,
              "report this with the model or script that caused it");
}

}  // namespace walle::base
