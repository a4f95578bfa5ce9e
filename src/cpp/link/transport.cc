#include "link/transport.h"

namespace walle::link {

Result<Fetched> fetch(Transport& transport, const std::string& url, uint64_t most) {
  Fetched out;
  const auto collect = [&](std::string_view piece) -> Status {
    if (piece.size() > most - out.body.size())
      return network_error("more than " + std::to_string(most) + " bytes", "at most that many",
                           "'" + url + "'", "look at what the server sends; nothing of it was used");
    out.body += piece;
    return {};
  };
  WALLE_ASSIGN(out.status, transport.get({url}, collect));
  return out;
}

}  // namespace walle::link
