// Tunnel: a device's one connection with its broker: MQTT 3.1.1, on which records leave, and
// acknowledgements, epochs and answers come back. docs/concepts/tunnel.md.
//
// A record is acknowledged to its source when the sink has said that it is durable; what a broker says proves
// nothing. Until then it stays in the source and is sent again: behind a new connection, and behind a time in
// which nothing came. So nothing is lost, and the sink, which knows records by their numbers, stores none
// twice.
//
// turn() is the whole of it, without a thread: tests call it, on an Env with a clock of their own. start()
// runs it on a thread, once. notify(), network_changed(), stats() and stop() are for any thread; the listener
// is called by the tunnel's and must not wait.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <string>

#include "base/env.h"
#include "base/loop_thread.h"
#include "link/tunnel/answer_taker.h"
#include "link/tunnel/backoff.h"
#include "link/tunnel/epoch_message.h"
#include "link/tunnel/mqtt_session.h"
#include "link/tunnel/record_source.h"
#include "link/tunnel/socket.h"
#include "link/tunnel/uploads.h"

namespace walle::link {

struct TunnelOptions {
  std::string device;               // its id: client id and user name at the broker, part of its topics
  int keepalive_s = 120;            // without a word from either side; the broker waits half as long again
  int64_t connect_us = 15'000'000;  // for TCP and TLS together, and for the broker's answer
  int64_t linger_us = 50'000;
  size_t linger_bytes = 3072;
  size_t most_in_flight = 32;  // messages
  // Nothing of what is in flight was acknowledged for so long: it is sent again, then after twice the time.
  int64_t resend_us = 30'000'000;
  int64_t most_resend_us = 600'000'000;
  BackoffOptions backoff;
  uint64_t seed = 0;  // of the jitter; 0: the system's randomness
};

enum class TunnelState : uint8_t { offline, connecting, online, refused, stopped };
std::string_view tunnel_state_name(TunnelState state);

struct TunnelStats {
  TunnelState state = TunnelState::offline;
  uint64_t connections = 0;                     // that the broker accepted
  uint64_t failures = 0;                        // connections that failed or broke
  uint64_t acknowledged = 0;                    // records that the sink holds
  uint64_t refused = 0;                         // records that it can never take: damaged, or too large
  uint64_t resent = 0;                          // records sent again
  uint64_t in_flight = 0;                       // messages
  uint64_t sent_bytes = 0, received_bytes = 0;  // of MQTT, before TLS
  uint64_t record_bytes = 0;                    // of the records that were sent, before they were deflated
  uint64_t epochs = 0, answers = 0;
  uint64_t damaged_answers = 0;
  std::string last_error;  // of the newest connection that failed
};

// Whom news are told to; any may be empty.
struct TunnelListener {
  std::function<void(const EpochMessage&)> on_epoch;
  std::function<void(std::string_view)> on_down;  // bytes of an answer; gone when it returns
  std::function<void(TunnelState)> on_state;
  AnswerTaker* answers = nullptr;  // outlives the tunnel; none: answers go to on_down alone
};

class Tunnel {
 public:
  // An error of group argument where the device's id is none that a topic can hold. Socket, source and Env
  // outlive it.
  static Result<std::unique_ptr<Tunnel>> make(Env& env, RecordSource& source, Socket& socket,
                                              TunnelOptions options, TunnelListener listener = {});
  ~Tunnel();  // stop()

  Status start();
  // Ends the thread: a connection that is being made is given up. What was not acknowledged stays in the
  // source. From any thread, again and at the same time; from a listener it does not wait.
  void stop();
  // The source has something new.
  void notify();
  // Another network: connects anew, at once.
  void network_changed();
  TunnelStats stats() const;
  // Until nothing waits and nothing is in flight; false: not within that time, or stopped.
  bool drain(int64_t timeout_us);

  // Does what there is to do now; returns in how many microseconds it wants to be called again, at the
  // latest. Only without start().
  int64_t turn();

 private:
  Tunnel(Env& env, RecordSource& source, Socket& socket, TunnelOptions options, TunnelListener listener);
  void say_goodbye();
  bool connected() const { return state_ == TunnelState::connecting || state_ == TunnelState::online; }
  void connect(int64_t now);
  void close(TunnelState state);
  void fail(const Error& error, int64_t now);
  Status converse(int64_t now);
  Status receive(int64_t now);
  Status take(const MqttEvent& event, int64_t now);
  Status hear(const MqttPublish& publish, int64_t now);
  Status hear_answer(std::string_view bytes);
  void say_marks(const std::vector<AnswerMark>& marks);
  uint16_t next_id();
  void upload(int64_t now);
  Status flush(int64_t now);
  int64_t sleeps(int64_t now) const;
  void set_state(TunnelState state);
  void publish_stats();

  Env& env_;
  RecordSource& source_;
  Socket& socket_;
  TunnelOptions options_;
  TunnelListener listener_;
  std::string up_, ack_, down_, got_;  // topics
  std::minstd_rand random_;
  Backoff backoff_;
  MqttSession session_;
  Uploads uploads_;
  TunnelState state_ = TunnelState::offline;
  int64_t next_try_ = 0;     // steady us, while offline
  int64_t accepted_at_ = 0;  // of this connection; 0: not yet
  uint64_t published_ = 0;
  bool more_ = false;  // the socket had more than one turn takes
  TunnelStats counted_;
  std::atomic<bool> news_{false}, network_changed_{false};
  mutable std::mutex lock_;  // of what stands below
  std::condition_variable woken_;
  TunnelStats stats_;
  bool idle_ = false;
  base::LoopThread thread_;  // last: it uses all of the above
};

}  // namespace walle::link
