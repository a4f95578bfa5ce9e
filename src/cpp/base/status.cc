#include "base/status.h"

#include "base/utf8.h"

namespace walle::base {

std::string_view error_group_name(ErrorGroup group) {
  switch (group) {
    case ErrorGroup::argument: return "argument";
    case ErrorGroup::model: return "model";
    case ErrorGroup::resource: return "resource";
    case ErrorGroup::backend: return "backend";
    case ErrorGroup::task: return "task";
    case ErrorGroup::network: return "network";
    case ErrorGroup::internal: return "internal";
    case ErrorGroup::timeout: return "timeout";
    case ErrorGroup::cancelled: return "cancelled";
  }
  return "internal";
}

Error::Error(ErrorGroup group, ErrorText text) : group_(group), text_(std::move(text)) {
  for (std::string* part : {&text_.given, &text_.expected, &text_.where, &text_.next})
    *part = repaired_utf8(std::move(*part));
}

// In this order, because logs cut the end of long lines: what was given must survive.
std::string Error::message() const {
  std::string out = text_.given;
  if (!text_.expected.empty()) out += "; expected " + text_.expected;
  if (!text_.where.empty()) out += " [at " + text_.where + "]";
  if (!text_.next.empty()) out += ". Next: " + text_.next;
  return out;
}

Error& Error::within(std::string_view outer) {
  // From the outside in, as a path is read.
  const std::string place = repaired_utf8(std::string(outer));
  text_.where = text_.where.empty() ? place : place + ", " + text_.where;
  return *this;
}

namespace {
Error make(ErrorGroup group, std::string given, std::string expected, std::string where, std::string next) {
  return Error(group, {.given = std::move(given),
                       .expected = std::move(expected),
                       .where = std::move(where),
                       .next = std::move(next)});
}
}  // namespace

Error argument_error(std::string given, std::string expected, std::string where, std::string next) {
  return make(ErrorGroup::argument, std::move(given), std::move(expected), std::move(where), std::move(next));
}
Error model_error(std::string given, std::string expected, std::string where, std::string next) {
  return make(ErrorGroup::model, std::move(given), std::move(expected), std::move(where), std::move(next));
}
Error resource_error(std::string given, std::string expected, std::string where, std::string next) {
  return make(ErrorGroup::resource, std::move(given), std::move(expected), std::move(where), std::move(next));
}
Error backend_error(std::string given, std::string expected, std::string where, std::string next) {
  return make(ErrorGroup::backend, std::move(given), std::move(expected), std::move(where), std::move(next));
}
Error timeout_error(std::string given, std::string expected, std::string where, std::string next) {
  return make(ErrorGroup::timeout, std::move(given), std::move(expected), std::move(where), std::move(next));
}
Error network_error(std::string given, std::string expected, std::string where, std::string next) {
  return make(ErrorGroup::network, std::move(given), std::move(expected), std::move(where), std::move(next));
}
Error cancelled_error(std::string given, std::string where) {
  return make(ErrorGroup::cancelled, std::move(given), "a run that is left alone", std::move(where),
              "run again when the result is wanted: the session can be used as before");
}
// Expected and next are the same for all: the reader cannot mend it, only report it.
Error internal_error(std::string given, std::string where) {
  return make(ErrorGroup::internal, std::move(given), "an invariant of the runtime to hold", std::move(where),
              "report this with the model or script that caused it");
}

}  // namespace walle::base
