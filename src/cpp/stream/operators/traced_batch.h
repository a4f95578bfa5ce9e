// TracedBatch: rows together with where they come from: what the egress gate believes.
//
// Labels and support of a Batch are fields that anybody may set. A TracedBatch cannot be changed, and there
// are three ways to one: rows read from a log, labelled by its catalogue; rows given by hand, which are
// personal at least and stand for one event each, whatever the giver says; and what an operator made of
// these, which alone may leave the device. An operator never forgets a label: what it was once given as
// secret stays secret in all that it gives, until noise lowers it.
//
// The guarantee is against mistakes, and against scripts that set attributes. Native code in the same process
// can do anything, also write an Operator that lowers labels.
#pragma once

#include <map>
#include <memory>

#include "stream/event/event_log.h"
#include "stream/operators/operators.h"

namespace walle::stream {

class TracedBatch {
 public:
  enum class Origin : uint8_t { given, log, graph };
  using LabelsByName = std::map<std::string, Sensitivity>;

  TracedBatch();
  static TracedBatch given(Batch rows);
  // Columns of no rows with labels as they are told: what a graph would make of them can be asked, and
  // nothing else.
  static TracedBatch supposed(const LabelsByName& labels);
  // The events asked for, oldest first, at most `limit` (negative: all), as rows of event, page, session,
  // page_instance and the named contents, absent where an event has none. A field that no event declares is
  // an error of the kind no_such_key; texts of more than `text_bytes` in all are a resource error. `numbers`
  // takes the rows' sequence numbers.
  static Result<TracedBatch> of_log(EventLog& log, const std::vector<std::string>& fields,
                                    const EventQuery& query, int64_t limit, size_t text_bytes = SIZE_MAX,
                                    std::vector<uint64_t>* numbers = nullptr);
  // The labels that such rows have at least.
  static Result<LabelsByName> labels_of_log(const Catalog& catalog, const std::vector<std::string>& fields);
  static Result<TracedBatch> push(Operator& op, const TracedBatch& in);
  static Result<TracedBatch> finish(Operator& op);
  static Result<TracedBatch> joined(const TracedBatch& left, const TracedBatch& right,
                                    const std::vector<std::string>& keys, int64_t within_us);

  const Batch& rows() const { return *rows_; }
  Origin origin() const { return origin_; }
  // These rows, then `behind`'s: of the same columns, each with the higher of both labels.
  Result<TracedBatch> followed_by(const TracedBatch& behind) const;
  // The same rows where `cells` are unchanged, with labels raised as told; otherwise rows given by hand.
  TracedBatch confirmed(const Batch& cells) const;

 private:
  TracedBatch(Batch rows, Origin origin)
      : rows_(std::make_shared<const Batch>(std::move(rows))), origin_(origin) {}

  std::shared_ptr<const Batch> rows_;
  Origin origin_;
};

}  // namespace walle::stream
