#include "link/tunnel/tunnel.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>

#include "base/names.h"
#include "link/tunnel/ack_message.h"

namespace walle::link {

namespace {
constexpr std::string_view kEpochTopic = "w/epoch";
// Of what waits for the socket: more is not made before it is gone, and nothing more is read, which may need
// an answer.
constexpr size_t kMostOutgoing = size_t{64} << 10;
constexpr size_t kReadBytes = size_t{16} << 10;
constexpr int kReadsPerTurn = 8;
// A connection that held so long was a good one: the next wait begins short again.
constexpr int64_t kHeldUs = 10'000'000;

std::string topic(const std::string& device, std::string_view leaf) {
  return "w/" + device + "/" + std::string(leaf);
}

MqttSessionOptions session_options(const TunnelOptions& options) {
  // A lost acknowledgement is sent again with the record it is for; an answer is not.
  return {.client = options.device,
          .keepalive_s = options.keepalive_s,
          .answer_us = options.connect_us,
          .subscriptions = {{topic(options.device, "ack"), 0},
                            {topic(options.device, "down"), 1},
                            {std::string(kEpochTopic), 1}}};
}
}  // namespace

std::string_view tunnel_state_name(TunnelState state) {
  static constexpr std::array<std::string_view, 5> kNames = {"offline", "connecting", "online", "refused",
                                                             "stopped"};
  return kNames[static_cast<size_t>(state)];
}

Result<std::unique_ptr<Tunnel>> Tunnel::make(Env& env, RecordSource& source, Socket& socket,
                                             TunnelOptions options, TunnelListener listener) {
  WALLE_TRY(base::check_name(base::NameKind::device, options.device, "tunnel"));
  if (options.keepalive_s < 1 || options.keepalive_s > 65'535)
    return argument_error({"a keepalive of ", options.keepalive_s, " s"}, "1 to 65535", "tunnel",
                          "pass seconds");
  return std::unique_ptr<Tunnel>(new Tunnel(env, source, socket, std::move(options), std::move(listener)));
}

Tunnel::Tunnel(Env& env, RecordSource& source, Socket& socket, TunnelOptions options, TunnelListener listener)
    : env_(env),
      source_(source),
      socket_(socket),
      options_(std::move(options)),
      listener_(std::move(listener)),
      up_(topic(options_.device, "up")),
      ack_(topic(options_.device, "ack")),
      down_(topic(options_.device, "down")),
      got_(topic(options_.device, "got")),
      random_(options_.seed ? static_cast<uint32_t>(options_.seed) : std::random_device{}()),
      backoff_(options_.backoff),
      session_(session_options(options_)),
      uploads_(source_, {.linger_us = options_.linger_us,
                         .linger_bytes = options_.linger_bytes,
                         .most_in_flight = options_.most_in_flight,
                         .resend_us = options_.resend_us,
                         .most_resend_us = options_.most_resend_us}),
      thread_({.name = "tunnel",
               .step = [this] { return turn(); },
               .sleep = [this](int64_t us) { socket_.wait(us, !session_.outgoing().empty()); },
               .wake = [this] { socket_.wake(); },
               .cut = [this] { socket_.interrupt(); },
               .end = [this] { say_goodbye(); }}) {}

Tunnel::~Tunnel() { stop(); }

Status Tunnel::start() {
  if (thread_.start()) return {};
  return argument_error("start() a second time", "one start of a tunnel", "tunnel", "make another tunnel");
}

void Tunnel::say_goodbye() {
  if (connected()) {
    session_.finish();
    (void)flush(env_.steady_us());  // nobody waits for it
  }
  close(TunnelState::stopped);
  publish_stats();
}

void Tunnel::stop() { thread_.stop(); }

void Tunnel::notify() {
  news_ = true;
  socket_.wake();
}

void Tunnel::network_changed() {
  network_changed_ = true;
  socket_.wake();
}

TunnelStats Tunnel::stats() const {
  const std::lock_guard lock(lock_);
  return stats_;
}

bool Tunnel::drain(int64_t timeout_us) {
  std::unique_lock lock(lock_);
  news_ = true;
  idle_ = false;  // the thread says so anew
  socket_.wake();
  woken_.wait_for(lock, std::chrono::microseconds(timeout_us),
                  [&] { return idle_ || stats_.state == TunnelState::stopped; });
  return idle_;
}

int64_t Tunnel::turn() {
  const int64_t now = env_.steady_us();
  if (network_changed_.exchange(false)) {
    close(TunnelState::offline);
    backoff_.reset();
    next_try_ = now;
  }
  if (news_.exchange(false)) uploads_.notice();
  if (!connected() && now >= next_try_) connect(now);
  if (connected())
    if (const Status status = converse(env_.steady_us()); !status.ok()) fail(status.error(), now);
  publish_stats();
  return sleeps(env_.steady_us());
}

void Tunnel::connect(int64_t now) {
  set_state(TunnelState::connecting);
  publish_stats();  // to open takes its time
  Status opened = socket_.open(options_.connect_us);
  if (!opened.ok()) return fail(opened.error(), now);
  accepted_at_ = 0;
  session_.begin(env_.steady_us());
}

// Nothing of it is remembered; what is on its way is sent again on the next connection.
void Tunnel::close(TunnelState state) {
  socket_.close();
  session_.end();
  uploads_.rewind();
  more_ = false;
  set_state(state);
}

void Tunnel::fail(const Error& error, int64_t now) {
  counted_.last_error = error.message();
  ++counted_.failures;
  if (accepted_at_ && now >= accepted_at_ + kHeldUs) backoff_.reset();
  close(error.kind() == base::ErrorKind::not_permitted ? TunnelState::refused : TunnelState::offline);
  next_try_ = env_.steady_us() + backoff_.next(random_);
}

Status Tunnel::converse(int64_t now) {
  WALLE_TRY(receive(now));
  WALLE_TRY(session_.keep_alive(now));
  uploads_.resend_if_overdue(now);
  upload(now);
  return flush(now);
}

Status Tunnel::receive(int64_t now) {
  char buffer[kReadBytes];
  more_ = false;
  for (int i = 0; i < kReadsPerTurn && session_.outgoing().size() < kMostOutgoing; ++i) {
    WALLE_ASSIGN(const size_t size, socket_.receive(buffer));
    if (size == 0) return {};
    counted_.received_bytes += size;
    session_.add({buffer, size}, now);
    for (;;) {
      WALLE_ASSIGN(const MqttEvent event, session_.next());
      if (event.kind == MqttEvent::Kind::none) break;
      WALLE_TRY(take(event, now));
    }
  }
  more_ = true;
  return {};
}

Status Tunnel::take(const MqttEvent& event, int64_t now) {
  switch (event.kind) {
    case MqttEvent::Kind::accepted:
      accepted_at_ = std::max<int64_t>(now, 1);
      ++counted_.connections;
      counted_.last_error.clear();
      set_state(TunnelState::online);
      if (listener_.answers) say_marks(listener_.answers->marks());
      return {};
    case MqttEvent::Kind::message: return hear(event.publish, now);
    case MqttEvent::Kind::none:
    case MqttEvent::Kind::taken:
    case MqttEvent::Kind::subscribed: return {};
  }
  return {};
}

Status Tunnel::hear(const MqttPublish& publish, int64_t now) {
  if (publish.topic == ack_) {
    WALLE_ASSIGN(const std::vector<AckEntry> entries, read_ack(publish.payload));
    // The source did not write it down, and is told again: no reason to end a connection.
    if (const Status status = uploads_.acknowledge(entries, now); !status.ok())
      counted_.last_error = status.error().message();
  } else if (publish.topic == kEpochTopic) {
    const std::optional<EpochMessage> epoch = read_epoch(publish.payload);
    if (!epoch)
      return network_error({publish.payload.size(), " bytes"}, "an epoch of 10 bytes", "topic 'w/epoch'",
                           "look at who writes to it");
    ++counted_.epochs;
    if (listener_.on_epoch) listener_.on_epoch(*epoch);
  } else if (publish.topic == down_) {
    ++counted_.answers;
    if (listener_.on_down) listener_.on_down(publish.payload);
    if (listener_.answers)
      if (const Status status = hear_answer(publish.payload); !status.ok())
        counted_.last_error = status.error().message();
  }
  return {};  // another topic is of a later version
}

// One that is damaged, or cannot be written down, comes again: no reason to end a connection.
Status Tunnel::hear_answer(std::string_view bytes) {
  const Result<Answer> answer = read_answer(bytes);
  if (!answer.ok()) {
    ++counted_.damaged_answers;
    return answer.error();
  }
  WALLE_ASSIGN(AnswerMark mark, listener_.answers->take(*answer));
  say_marks({std::move(mark)});
  return {};
}

void Tunnel::say_marks(const std::vector<AnswerMark>& marks) {
  for (size_t i = 0; i < marks.size(); i += kMostSections) {
    const auto first = marks.begin() + static_cast<ptrdiff_t>(i);
    const auto last = first + static_cast<ptrdiff_t>(std::min(kMostSections, marks.size() - i));
    session_.publish(got_, pack_marks({first, last}), next_id());
  }
}

// The last identifier is SUBSCRIBE's, and 0 none.
uint16_t Tunnel::next_id() { return static_cast<uint16_t>(published_++ % 0xfffe + 1); }

void Tunnel::upload(int64_t now) {
  while (session_.outgoing().size() < kMostOutgoing) {
    const Result<std::optional<std::string>> message = uploads_.next(now);
    if (!message.ok()) {
      counted_.last_error = message.error().message();
      return;
    }
    if (!*message) return;
    session_.publish(up_, **message, next_id());
  }
}

Status Tunnel::flush(int64_t now) {
  while (!session_.outgoing().empty()) {
    WALLE_ASSIGN(const size_t size, socket_.send(session_.outgoing()));
    if (size == 0) return {};
    counted_.sent_bytes += size;
    session_.sent(size, now);
  }
  return {};
}

int64_t Tunnel::sleeps(int64_t now) const {
  if (more_) return 0;
  int64_t until = next_try_;
  if (connected()) {
    until = session_.deadline();
    if (session_.outgoing().size() < kMostOutgoing) until = std::min(until, uploads_.deadline());
  }
  return std::max<int64_t>(0, until - now);
}

void Tunnel::set_state(TunnelState state) {
  if (state == state_) return;
  state_ = state;
  if (listener_.on_state) listener_.on_state(state);
}

void Tunnel::publish_stats() {
  const UploadCounts& counts = uploads_.counts();
  counted_.state = state_;
  counted_.acknowledged = counts.acknowledged;
  counted_.refused = counts.refused;
  counted_.resent = counts.resent;
  counted_.record_bytes = counts.record_bytes;
  counted_.in_flight = uploads_.in_flight();
  const std::lock_guard lock(lock_);
  stats_ = counted_;
  idle_ = uploads_.idle() && !news_;
  woken_.notify_all();
}

}  // namespace walle::link
