#include "stream/event/event_query.h"

namespace walle::stream {

// A page instance ends with its exit, or with the session it was entered in.
bool QueryReader::behind_page(const Event& e) {
  if (page_session_ == 0) page_session_ = e.session;
  return left_ || e.session != page_session_;
}

QueryReader::Verdict QueryReader::of(const Event& e) {
  // Neither numbers nor times go back.
  if (e.seq > query_.to || e.ts > query_.to_ts) return Verdict::stop;
  // Sessions follow each other, each named by its first event's number.
  if (query_.session && e.session != *query_.session)
    return e.session > *query_.session ? Verdict::stop : Verdict::skip;
  if (query_.page_instance) {
    if (behind_page(e)) return Verdict::stop;
    if (e.page_instance != *query_.page_instance) return Verdict::skip;
    left_ = catalog_.events()[e.event].kind == EventKind::page_exit;
  }
  return e.seq >= query_.from && e.ts >= query_.from_ts ? Verdict::take : Verdict::skip;
}

}  // namespace walle::stream
