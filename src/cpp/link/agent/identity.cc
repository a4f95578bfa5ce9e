#include "link/agent/identity.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "base/bytes.h"
#include "base/log.h"
#include "base/names.h"
#include "link/crypto.h"
#include "link/limits.h"
#include "link/trust/json.h"
#include "store/mirrored_file.h"

namespace walle::link {

namespace {
constexpr const char* kIdentityKind = "IDNT";
constexpr uint16_t kIdentityVersion = 2;
constexpr const char *kPath = "/v1/enrol", *kTimePath = "/v1/time";
constexpr uint64_t kMostTimeBytes = 20;
constexpr uint64_t kMostEnrolBytes = 1'000'000;  // a root is at most half of it
constexpr size_t kMostHostBytes = 255, kMostPemBytes = 65'536;
constexpr int64_t kMostPort = 65'535;
constexpr int64_t kMostSeconds = int64_t{1} << 40;

Error bad_reply(Text given, Text url) {
  return network_error(given, "a device id, a certificate and an authority", {"'", url, "'"},
                       "look whether this is a server of walle_rt");
}

std::string text_of(const Json& object, std::string_view key, size_t most) {
  const Json* found = object.find(key);
  const std::string* text = found ? found->text() : nullptr;
  return text && text->size() <= most ? *text : std::string();
}

Broker broker_of(const Json& reply) {
  Broker out;
  const Json* broker = reply.find("broker");
  if (!broker || !broker->object()) return out;
  out.host = text_of(*broker, "host", kMostHostBytes);
  const Json* port = broker->find("port");
  const int64_t* number = port ? port->integer() : nullptr;
  if (!out.host.empty() && number && *number > 0 && *number <= kMostPort)
    out.port = static_cast<uint16_t>(*number);
  return out;
}

std::string base64url(std::string_view bytes) {
  static constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::string out;
  uint32_t word = 0;
  int bits = 0;
  for (const char c : bytes) {
    word = word << 8 | static_cast<unsigned char>(c);
    for (bits += 8; bits >= 6; bits -= 6) out += kDigits[word >> (bits - 6) & 63];
  }
  if (bits > 0) out += kDigits[word << (6 - bits) & 63];
  return out;
}

// The canonical form leaves control characters in texts as they are, which JSON may not have.
std::string as_text(const Json& value) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string out;
  for (const char c : value.canonical()) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= ' ')
      out += c;
    else
      (out += "\\u00") += {kHex[byte >> 4], kHex[byte & 15]};
  }
  return out;
}

// What a server says to a device that it lets in, or knows.
struct Enrolled {
  std::string device, certificate, authority, root;
  Broker broker;
  int64_t renew_at_s = 0;
};

Result<Enrolled> read_enrolled(const Fetched& reply, const DeviceKey& key, const std::string& url) {
  if (reply.status != kHttpOk) return bad_reply({"status ", reply.status}, url);
  WALLE_ASSIGN(const Json said, parse_json(reply.body, "the reply of '" + url + kPath + "'"));
  Enrolled out;
  out.device = text_of(said, "device", kMostHostBytes);
  out.certificate = text_of(said, "certificate", kMostPemBytes);
  out.authority = text_of(said, "authority", kMostPemBytes);
  if (!base::valid_name(base::NameKind::device, out.device) || out.certificate.empty() ||
      out.authority.empty())
    return bad_reply("a reply that lacks one of them", url);
  // A certificate that TLS would refuse beside the key would keep the device out until somebody looks.
  if (!key.is_of(out.certificate)) return bad_reply("a certificate of another key", url);
  const Json* root = said.find("root");
  if (root && root->object()) out.root = as_text(*root);
  out.broker = broker_of(said);
  const Json* renew = said.find("renew_at");
  const int64_t* seconds = renew ? renew->integer() : nullptr;
  // Of a server that does not say when: never, as it may have no way to.
  out.renew_at_s = seconds ? std::clamp<int64_t>(*seconds, 0, kMostSeconds) : kMostSeconds;
  return out;
}

std::string quoted_pem(std::string_view pem) {
  std::string out;
  for (const char c : pem) out += c == '\n' ? std::string("\\n") : std::string(1, c);
  return out;
}
}  // namespace

// The one that is there, of a request whose reply was lost, or a new one.
Result<std::unique_ptr<DeviceKey>> Identity::key_of(Env& env, const std::string& folder, KeyStore& keys) {
  const std::string path = folder + "/device.key";
  if (env.file_size(path) >= 0) {
    WALLE_ASSIGN(const std::string pem, env.read_prefix(path, kMostPemBytes));
    auto read = keys.read(pem);
    if (read.ok()) return read;
  }
  WALLE_ASSIGN(std::unique_ptr<DeviceKey> made, keys.make());
  WALLE_ASSIGN(const std::string pem, made->private_pem());
  WALLE_TRY(env.replace_file(path, pem));
  return made;
}

Result<std::unique_ptr<Identity>> Identity::open(Env& env, const std::string& folder, KeyStore& keys) {
  WALLE_ASSIGN(const store::MirroredFile file,
               store::MirroredFile::open(env, folder + "/identity.wals", kIdentityKind));
  if (file.found() == store::MirroredFile::Found::nothing) return std::unique_ptr<Identity>();
  base::ByteReader in(file.content());
  const auto version = in.get<uint16_t>();
  if (in.ok() && version != kIdentityVersion)
    return resource_error({"an identity of version ", version}, {"version ", kIdentityVersion},
                          {"'", folder, "/identity.wals'"}, "remove the folder and enrol the device again");
  const std::string device(in.text());
  const std::string host(in.text());
  const auto port = in.get<uint16_t>();
  const std::string root(in.text());
  const auto renew_at_s = in.get<int64_t>();
  if (!in.done() || !base::valid_name(base::NameKind::device, device) || renew_at_s < 0 ||
      renew_at_s > kMostSeconds)
    return resource_error("both copies damaged", "who this device is", {"'", folder, "/identity.wals'"},
                          "remove the folder and enrol the device again");
  WALLE_ASSIGN(const std::string pem, env.read_prefix(folder + "/device.key", kMostPemBytes));
  WALLE_ASSIGN(std::unique_ptr<DeviceKey> key, keys.read(pem));
  auto out = std::unique_ptr<Identity>(new Identity(folder, std::move(key)));
  out->device_ = device;
  out->broker_ = {host, port};
  out->root_ = root;
  out->renew_at_s_ = renew_at_s;
  return out;
}

Status Identity::save(Env& env) const {
  base::ByteWriter out;
  out.put(kIdentityVersion);
  out.put_text(device_);
  out.put_text(broker_.host);
  out.put(broker_.port);
  out.put_text(root_);
  out.put(renew_at_s_.load());
  WALLE_ASSIGN(store::MirroredFile file,
               store::MirroredFile::open(env, folder_ + "/identity.wals", kIdentityKind));
  return file.write(out.written());
}

Result<std::unique_ptr<Identity>> Identity::enrol(Env& env, Transport& transport, const std::string& url,
                                                  const std::string& folder, const std::string& code,
                                                  KeyStore& keys) {
  WALLE_TRY(base::check_name(base::NameKind::code, code, "enrol_code"));
  WALLE_TRY(env.make_dirs(folder));
  WALLE_ASSIGN(std::unique_ptr<DeviceKey> key, key_of(env, folder, keys));
  WALLE_ASSIGN(const std::string csr, key->request("device"));
  const HttpPost request{.url = url + kPath,
                         .content_type = "application/json",
                         .body = R"({"code": ")" + code + R"(", "csr": ")" + quoted_pem(csr) + "\"}"};
  WALLE_ASSIGN(const Fetched reply, send(transport, request, kMostEnrolBytes));
  if (reply.status == kHttpForbidden)
    return network_error("a code that does not count", "one that is new, and used once", {"'", url, "'"},
                         "ask for another code");
  WALLE_ASSIGN(Enrolled said, read_enrolled(reply, *key, url));

  WALLE_TRY(env.replace_file(folder + "/device.pem", said.certificate));
  WALLE_TRY(env.replace_file(folder + "/authority.pem", said.authority));
  auto out = std::unique_ptr<Identity>(new Identity(folder, std::move(key)));
  out->device_ = std::move(said.device);
  out->broker_ = std::move(said.broker);
  out->root_ = std::move(said.root);
  out->renew_at_s_ = said.renew_at_s;
  WALLE_TRY(out->save(env));
  return out;
}

Status Identity::renew(Env& env, Transport& transport, const std::string& url, int64_t now_s) {
  WALLE_ASSIGN(const std::string csr, key_->request("device"));
  HttpPost request{.url = url + kPath,
                   .content_type = "application/json",
                   .body = R"({"csr": ")" + quoted_pem(csr) + "\"}"};
  WALLE_ASSIGN(request.headers, proof("POST", kPath, request.body, now_s));
  WALLE_ASSIGN(Fetched reply, send(transport, request, kMostEnrolBytes));
  if (reply.status == kHttpUnauthorized && learn_time(env, transport, url)) {
    WALLE_ASSIGN(request.headers, proof("POST", kPath, request.body, now_s));
    WALLE_ASSIGN(reply, send(transport, request, kMostEnrolBytes));
  }
  if (reply.status == kHttpUnauthorized) return unknown_device(url);
  WALLE_ASSIGN(const Enrolled said, read_enrolled(reply, *key_, url));
  if (said.device != device_) return bad_reply({"a certificate of '", said.device, "'"}, url);
  // Whom to believe, and where the broker is, stays as it was.
  WALLE_TRY(env.replace_file(certificate_file(), said.certificate));
  renew_at_s_ = said.renew_at_s;
  return save(env);
}

bool Identity::learn_time(Env& env, Transport& transport, const std::string& url) {
  if (!believes_time_) return false;
  const Result<Fetched> reply = fetch(transport, url + kTimePath, kMostTimeBytes);
  if (!reply.ok() || reply->status != kHttpOk) return false;
  int64_t said = 0;
  const char* const end = reply->body.data() + reply->body.size();
  const auto read = std::from_chars(reply->body.data(), end, said);
  if (read.ec != std::errc() || read.ptr != end || said < 0 || said > kMostSeconds) return false;
  const int64_t offset = said - env.wall_us() / base::kUsPerSecond;
  if (std::abs(offset - clock_offset_s_) < kClockSkewS / 2) return false;
  clock_offset_s_ = offset;
  base::log(base::LogLevel::warning, clock_trouble());
  return true;
}

std::string Identity::clock_trouble() const {
  const int64_t offset = clock_offset_s_;
  if (offset == 0) return {};
  return "this device's clock is " + std::to_string(std::abs(offset)) + " s " +
         (offset > 0 ? "behind" : "ahead of") + " its server's, by which requests are signed: set it";
}

Result<std::vector<HttpHeader>> Identity::proof(const std::string& method, const std::string& path,
                                                std::string_view body, int64_t now_s) const {
  WALLE_ASSIGN(const Crypto* const crypto, Crypto::system());
  WALLE_ASSIGN(const std::string digest, digest_hex(*crypto, DigestKind::sha256, body));
  const std::string seconds = std::to_string(now_s + clock_offset_s_);
  WALLE_ASSIGN(const std::string signature,
               key_->sign("walle-v1\n" + method + "\n" + path + "\n" + seconds + "\n" + digest));
  return std::vector<HttpHeader>{
      {"Authorization", "Walle " + device_ + ":" + seconds + ":" + base64url(signature)}};
}

}  // namespace walle::link
