// Conversions the stream topics share: Python contents to Values and back.
#pragma once

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <deque>

#include "pybind/errors.h"
#include "stream/event/event_log.h"

namespace walle::pybind {

// The values of one event; keeps the texts its Values borrow from.
class Contents {
 public:
  // `given`: a dict of field name to value, or None.
  std::span<const stream::Value> read(const stream::Catalog& catalog, uint16_t event,
                                      const pybind11::object& given);

 private:
  std::vector<stream::Value> values_;
  std::deque<std::string> texts_;
};

pybind11::dict event_dict(const stream::Event& e, const stream::Catalog& catalog);
// An event named by its names. `page` is the state's name for app_state events.
stream::Event make_event(const stream::Catalog& catalog, const std::string& name, const std::string& page,
                         int64_t ts, bool on);

}  // namespace walle::pybind
