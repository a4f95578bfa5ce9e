// The C API over container::DeviceCloud.
#include <algorithm>
#include <atomic>
#include <cstring>

#include "capi/app_keys.h"
#include "capi/app_stream.h"
#include "capi/device_handle.h"
#include "capi/guard.h"
#include "container/device/in_callback.h"
#include "link/transport_curl.h"
#include "walle/device.h"

namespace container = walle::container;
using walle::Result;
using walle::Status;
using walle::capi::copy_struct;
using walle::capi::guarded;
using walle::capi::null_argument;

namespace {

using walle::capi::Connection;
using Connected = std::shared_ptr<Connection>;

// The app's own stack behind a callback.
class CallbackTransport final : public walle::link::Transport {
 public:
  CallbackTransport(walle_http_t http, void* user) : http_(http), user_(user) {}

  std::string name() const override { return "the app's"; }
  void cancel() override { cancelled_.store(true); }

  Result<int> get(const walle::link::HttpGet& request, const walle::link::BodySink& body) override {
    walle_http_request_t asked{};
    asked.method = "GET";
    asked.url = request.url.c_str();
    asked.from = request.from;
    return ask(asked, request.headers, body);
  }
  Result<int> post(const walle::link::HttpPost& request, const walle::link::BodySink& body) override {
    walle_http_request_t asked{};
    asked.method = "POST";
    asked.url = request.url.c_str();
    asked.content_type = request.content_type.c_str();
    asked.body = request.body.data();
    asked.body_bytes = request.body.size();
    return ask(asked, request.headers, body);
  }

 private:
  struct Reader {
    const walle::link::BodySink& body;
    const std::atomic<bool>& cancelled;
    Status failed;
  };

  static int take(void* sink, const void* data, size_t size) {
    auto& reader = *static_cast<Reader*>(sink);
    if (reader.failed.ok()) reader.failed = reader.body({static_cast<const char*>(data), size});
    return reader.failed.ok() && !reader.cancelled.load() ? 0 : 1;
  }

  Result<int> ask(walle_http_request_t& asked, const std::vector<walle::link::HttpHeader>& headers,
                  const walle::link::BodySink& body) {
    if (cancelled_.load()) return walle::cancelled_error("a request", asked.url);
    std::vector<const char*> texts;
    for (const walle::link::HttpHeader& header : headers) {
      texts.push_back(header.name.c_str());
      texts.push_back(header.value.c_str());
    }
    asked.struct_size = sizeof asked;
    asked.headers = texts.data();
    asked.header_count = headers.size();
    Reader reader{.body = body, .cancelled = cancelled_, .failed = {}};
    const container::InCallback mark;
    const int status = http_(user_, &asked, take, &reader);
    if (!reader.failed.ok()) return reader.failed.take_error();
    if (status > 0) return status;
    return walle::network_error("no reply", "a reply", {"'", asked.url, "'"},
                                "look at what the app's HTTP stack says");
  }

  walle_http_t http_;
  void* user_;
  std::atomic<bool> cancelled_{false};
};

Result<walle_cloud_options_t> options_of(const walle_cloud_options_t* given) {
  if (!given) return null_argument("options", "walle_device_connect");
  walle_cloud_options_t out{};
  WALLE_TRY(copy_struct(*given, out, "walle_cloud_options_t", "walle_device_connect"));
  for (const auto& [text, name] :
       {std::pair{out.url, "url"}, {out.app, "app"}, {out.app_version, "app_version"}})
    if (!text) return null_argument(name, "walle_device_connect");
  return out;
}

std::string text_or_empty(const char* text) { return text ? text : ""; }

// The connection of a handle, or why there is none.
Result<Connected> connected(walle_device_t* device, const char* function) {
  if (!device) return null_argument("device", function);
  Connected connection = device->connection();
  if (connection) return connection;
  return walle::argument_error("a device that is not connected", "walle_device_connect first", function,
                               "connect it to its server");
}

template <size_t size>
void copy_text(char (&out)[size], const std::string& text) {
  const size_t length = std::min(text.size(), size - 1);
  std::memcpy(out, text.data(), length);
  out[length] = 0;
}

bool same_letters(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::ranges::equal(a, b, {}, lower, lower);
}

// What the server named when the device enrolled; "": nothing.
std::string broker_of(const walle::link::Identity& identity) {
  const walle::link::Broker& broker = identity.broker();
  if (broker.port == 0) return "";
  const bool v6 = broker.host.find(':') != std::string::npos;
  return "mqtts://" + (v6 ? "[" + broker.host + "]" : broker.host) + ":" + std::to_string(broker.port);
}

}  // namespace

Status Connection::open_tunnel(const container::Device& device, const std::string& broker, bool moves,
                               std::unique_ptr<walle::link::ByteStream> stream) {
  if (broker.empty()) return {};
  const walle::link::Identity& identity = cloud->identity();
  WALLE_ASSIGN(const auto open, device.core("walle_device_connect"));
  container::DeviceTunnelOptions options;
  options.broker = broker;
  options.tunnel.device = identity.device();
  options.stream = std::move(stream);
  options.files = {.authorities = identity.authorities_file(),
                   .certificate = identity.certificate_file(),
                   .key = identity.key_file(),
                   .session = open->dir() + container::kCloudFolder + "/tls-session",
                   .address = moves ? cloud->broker_file() : ""};
  walle::link::TunnelListener listener;
  listener.on_epoch = [told = cloud.get()](const walle::link::EpochMessage& news) {
    told->heard(news.epoch, news.jitter_s);
  };
  WALLE_ASSIGN(tunnel, container::DeviceTunnel::open(walle::Env::system(), device, std::move(options),
                                                     std::move(listener)));
  return {};
}

walle_status_t walle_device_connect(walle_device_t* device, const walle_cloud_options_t* options,
                                    walle_error_t* error) {
  return guarded(error, [&]() -> Status {
    if (!device) return null_argument("device", "walle_device_connect");
    const auto twice = [] {
      return walle::argument_error("a device that is connected", "one that is not", "walle_device_connect",
                                   "disconnect it first");
    };
    if (device->connection()) return twice();
    WALLE_ASSIGN(const walle_cloud_options_t given, options_of(options));
    WALLE_ASSIGN(std::unique_ptr<walle::link::ByteStream> stream, walle::capi::app_stream(given.stream));
    WALLE_ASSIGN(std::unique_ptr<walle::link::KeyStore> keys, walle::capi::app_keys(given.keys));
    std::unique_ptr<walle::link::Transport> transport;
    if (given.http) {
      transport = std::make_unique<CallbackTransport>(given.http, given.http_user);
    } else {
      WALLE_ASSIGN(transport, walle::link::curl_transport({.authorities = text_or_empty(given.authorities)}));
    }
    container::CloudOptions made;
    made.url = given.url;
    if (given.root) made.root.assign(static_cast<const char*>(given.root), given.root_bytes);
    made.profile.app = given.app;
    made.profile.app_version = given.app_version;
    made.profile.os_version = text_or_empty(given.os_version);
    made.profile.device = text_or_empty(given.device);
    made.enrol_code = text_or_empty(given.enrol_code);
    made.keys = std::move(keys);
    made.plain_enrolment = given.plain_enrolment != 0;
    if (given.report_after_ms) made.report_after_us = int64_t{given.report_after_ms} * 1000;
    const auto connection = std::make_shared<Connection>();
    WALLE_ASSIGN(connection->cloud, container::DeviceCloud::connect(walle::Env::system(), *device->device,
                                                                    std::move(transport), std::move(made)));
    WALLE_TRY(connection->open_tunnel(*device->device,
                                      given.broker ? given.broker : broker_of(connection->cloud->identity()),
                                      given.broker == nullptr, std::move(stream)));
    if (!device->set_connection(connection)) return twice();
    return {};
  });
}

walle_status_t walle_device_disconnect(walle_device_t* device, walle_error_t* error) {
  return guarded(error, [&]() -> Status {
    if (!device) return null_argument("device", "walle_device_disconnect");
    WALLE_TRY(device->device->may_end("walle_device_disconnect"));
    device->disconnect();
    return {};
  });
}

walle_status_t walle_device_header(walle_device_t* device, char text[49], walle_error_t* error) {
  return guarded(error, [&]() -> Status {
    if (!text) return null_argument("text", "walle_device_header");
    text[0] = 0;
    WALLE_ASSIGN(const Connected connection, connected(device, "walle_device_header"));
    const std::string header = connection->cloud->header();
    std::memcpy(text, header.c_str(), std::min<size_t>(header.size(), walle::link::kHeaderText) + 1);
    return {};
  });
}

walle_status_t walle_device_saw_header(walle_device_t* device, const char* name, const char* value,
                                       walle_error_t* error) {
  return guarded(error, [&]() -> Status {
    if (!name || !value) return null_argument(name ? "value" : "name", "walle_device_saw_header");
    if (!same_letters(name, walle::link::kReplyName)) return {};
    WALLE_ASSIGN(const Connected connection, connected(device, "walle_device_saw_header"));
    connection->cloud->saw(value);
    return {};
  });
}

walle_status_t walle_device_pull(walle_device_t* device, walle_error_t* error) {
  return guarded(error, [&]() -> Status {
    WALLE_ASSIGN(const Connected connection, connected(device, "walle_device_pull"));
    connection->cloud->pull();
    return {};
  });
}

walle_status_t walle_device_cloud(walle_device_t* device, walle_cloud_state_t* state, walle_error_t* error) {
  return guarded(error, [&]() -> Status {
    if (!state) return null_argument("state", "walle_device_cloud");
    walle_cloud_state_t out{};
    // Nothing of it is read but its size.
    WALLE_TRY(copy_struct(state, &out, 0, "walle_cloud_state_t", "walle_device_cloud"));
    const size_t size = state->struct_size;
    WALLE_ASSIGN(const Connected connection, connected(device, "walle_device_cloud"));
    const walle::link::AgentStatus told = connection->cloud->status();
    out.struct_size = size;
    out.epoch = told.memory.epoch;
    out.pulls = told.pulls;
    out.reports = told.memory.reports.size();
    out.pulling = told.pulling;
    copy_text(out.device_id, connection->cloud->identity().device());
    copy_text(out.transport, told.transport);
    copy_text(out.error, told.error);
    if (connection->tunnel) {
      const walle::link::TunnelStats sent = connection->tunnel->stats();
      copy_text(out.tunnel, std::string(tunnel_state_name(sent.state)));
      out.acknowledged = sent.acknowledged;
      copy_text(out.tunnel_error, sent.last_error);
    }
    std::memcpy(state, &out, std::min(size, sizeof out));
    return {};
  });
}
