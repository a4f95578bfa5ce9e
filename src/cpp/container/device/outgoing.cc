#include "container/device/outgoing.h"

namespace walle::container {

Result<bool> Outgoing::send(const std::string& feature, const stream::TracedBatch& rows) {
  if (rows.rows().rows() == 0) {
    WALLE_TRY(gate_.check_columns(task_, feature, rows.rows().columns));
    return false;
  }
  if (permits_.size() >= kMostSends) {
    return resource_error({"send number ", kMostSends + 1, " of one firing"}, {"at most ", kMostSends},
                          "walle.stream.send", "send more rows at once");
  }
  WALLE_ASSIGN(stream::Permit permit, gate_.permit(task_, feature, rows));
  permit.priority = priority_;
  if (feature == question_) permit.package = package_;
  permits_.push_back(std::move(permit));
  return true;
}

}  // namespace walle::container
