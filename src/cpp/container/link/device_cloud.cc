#include "container/link/device_cloud.h"

#include <unistd.h>

#include <charconv>

#include "base/log.h"
#include "container/link/device_host.h"
#include "ops/op_set.h"

namespace walle::container {

namespace {
constexpr uint64_t kMebibyte = 1 << 20;

uint64_t memory_mb() {
  const long pages = sysconf(_SC_PHYS_PAGES), bytes = sysconf(_SC_PAGESIZE);
  return pages > 0 && bytes > 0 ? static_cast<uint64_t>(pages) * static_cast<uint64_t>(bytes) / kMebibyte : 0;
}

// No blank, no quote, no line end: it goes into requests as it is.
Status check_url(const std::string& url) {
  const bool scheme = url.starts_with("https://") || url.starts_with("http://");
  bool plain = url.size() <= 2048 && url.find_first_of("?#\"'<>\\") == std::string::npos;
  for (const char c : url) plain = plain && c > 0x20 && c < 0x7f;
  if (scheme && plain && url.size() > std::string_view("https://").size()) return {};
  return argument_error({"url '", url.substr(0, 100), "'"}, "https://host[:port], without blanks or a query",
                        "connect", "give the address that walle serve prints");
}

// Of an http:// address: whether it names this machine, so that nobody listens on the way.
bool is_loopback(std::string_view url) {
  std::string_view host = url.substr(std::string_view("http://").size());
  host = host.substr(0, host.find('/'));
  if (host.find('@') != std::string_view::npos) return false;
  if (host.starts_with("[::1]")) return true;
  host = host.substr(0, host.find(':'));
  if (host == "localhost") return true;
  // 127.0.0.0/8 in digits alone: 127.example.com is a name like others.
  return host.starts_with("127.") && host.find_first_not_of("0123456789.") == std::string_view::npos;
}

Result<std::unique_ptr<link::Identity>> identity_of(Env& env, link::Transport& transport,
                                                    const std::string& folder, const CloudOptions& options) {
  link::KeyStore& keys = options.keys ? *options.keys : link::libcrypto_keys();
  WALLE_ASSIGN(std::unique_ptr<link::Identity> known, link::Identity::open(env, folder, keys));
  if (known) return known;
  if (options.enrol_code.empty())
    return argument_error("a device that has not enrolled, and no code", "a one-time code", "connect",
                          "ask for one: walle device-code");
  if (options.url.starts_with("http://") && !options.plain_enrolment && !is_loopback(options.url))
    return argument_error(
        {"a code for '", options.url.substr(0, 100), "', which anybody on the way could read"},
        "https://, or http:// to this machine", "connect",
        "serve with `walle serve --tls`, or allow plain_enrolment in a network of your own");
  return link::Identity::enrol(env, transport, options.url, folder, options.enrol_code, keys);
}
}  // namespace

Result<std::unique_ptr<DeviceCloud>> DeviceCloud::connect(Env& env, Device& device,
                                                          std::unique_ptr<link::Transport> transport,
                                                          CloudOptions options) {
  WALLE_TRY(check_url(options.url));
  while (options.url.ends_with('/')) options.url.pop_back();
  WALLE_ASSIGN(const std::shared_ptr<DeviceCore> core, device.core("connect"));
  const std::string folder = core->dir() + kCloudFolder;
  WALLE_TRY(env.make_dirs(folder));
  auto out = std::unique_ptr<DeviceCloud>(new DeviceCloud(device));
  WALLE_ASSIGN(out->identity_, identity_of(env, *transport, folder, options));

  link::DeviceProfile& profile = options.profile;
  profile.device_id = out->identity_->device();
  profile.vm = core->vm_id();
  profile.op_set = ops::op_set_id();
  if (profile.ram_mb == 0) profile.ram_mb = memory_mb();
  link::AgentOptions agent;
  WALLE_ASSIGN(agent.header, link::header_of(profile));
  agent.device = link::device_pseudonym(profile.device_id);
  agent.folder = out->folder_ = folder + "/agent";
  agent.url = options.url;
  agent.first_root = options.root.empty() ? out->identity_->root() : options.root;
  agent.report_after_us = options.report_after_us;
  agent.signs = [&env, identity = out->identity_](const std::string& method, const std::string& path,
                                                  std::string_view body) {
    return identity->proof(method, path, body, env.wall_us() / base::kUsPerSecond);
  };
  if (!agent.url.starts_with("http://") || is_loopback(agent.url)) out->identity_->believe_time();
  agent.sets_clock = [&env, identity = out->identity_, url = agent.url](link::Transport& way) {
    return identity->learn_time(env, way, url);
  };
  base::log(base::LogLevel::info,
            "device " + profile.device_id + " follows '" + options.url + "' by " + transport->name());
  WALLE_ASSIGN(out->agent_,
               link::AgentThread::start(env, std::move(transport),
                                        std::make_unique<DeviceHost>(env, device, folder + "/probation"),
                                        std::move(agent), options.times,
                                        std::make_unique<link::Renewal>(env, out->identity_, options.url)));
  const bool joined = device.attached().join(out.get(), [agent = std::weak_ptr(out->agent_)] {
    if (const auto held = agent.lock()) held->stop();
  });
  if (!joined) return argument_error("a closed device", "an open one", "connect", "open the folder again");
  return out;
}

DeviceCloud::~DeviceCloud() {
  device_.attached().leave(this);
  stop();
}

std::string DeviceCloud::header() const { return link::encode_text(agent_->header()); }

void DeviceCloud::saw(std::string_view up) {
  uint64_t epoch = 0;
  const auto [end, error] = std::from_chars(up.data(), up.data() + up.size(), epoch);
  if (error == std::errc() && end == up.data() + up.size()) agent_->heard(epoch);
}

}  // namespace walle::container
