#include "link/transport_curl.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <atomic>

#include "base/libcrypto.h"

namespace walle::link {

namespace {
// Of <curl/curl.h>, part of libcurl's ABI since 7.32 (2013); a build needs no headers of it so.
enum Option : int {
  kWriteData = 10001,
  kUrl = 10002,
  kRange = 10007,
  kErrorBuffer = 10010,
  kPostFields = 10015,
  kLowSpeedLimit = 19,
  kLowSpeedTime = 20,
  kHttpHeader = 10023,
  kNoProgress = 43,
  kPost = 47,
  kFollowLocation = 52,
  kPostFieldSize = 60,
  kCaInfo = 10065,
  kMaxRedirects = 68,
  kHttpGet = 80,
  kNoSignal = 99,
  kProgressData = 10057,
  kTcpNoDelay = 121,
  kConnectTimeoutMs = 156,
  kProtocols = 181,
  kRedirectProtocols = 182,
  kWriteFunction = 20011,
  kProgressFunction = 20219,
};
constexpr int kResponseCode = 0x200002;  // CURLINFO_RESPONSE_CODE
constexpr long kHttpOnly = 1, kHttpsOnly = 2, kGlobalAll = 3, kMostRedirects = 3;
constexpr size_t kErrorBytes = 256;

struct Functions {
  int (*global_init)(long) = nullptr;
  void* (*easy_init)() = nullptr;
  void (*easy_cleanup)(void*) = nullptr;
  void (*easy_reset)(void*) = nullptr;
  int (*easy_setopt)(void*, int, ...) = nullptr;
  int (*easy_perform)(void*) = nullptr;
  int (*easy_getinfo)(void*, int, ...) = nullptr;
  const char* (*easy_strerror)(int) = nullptr;
  void* (*slist_append)(void*, const char*) = nullptr;
  void (*slist_free_all)(void*) = nullptr;
};

bool load(void* library, Functions& f) {
  using base::find_function;
  return find_function(library, "curl_global_init", f.global_init) &&
         find_function(library, "curl_easy_init", f.easy_init) &&
         find_function(library, "curl_easy_cleanup", f.easy_cleanup) &&
         find_function(library, "curl_easy_reset", f.easy_reset) &&
         find_function(library, "curl_easy_setopt", f.easy_setopt) &&
         find_function(library, "curl_easy_perform", f.easy_perform) &&
         find_function(library, "curl_easy_getinfo", f.easy_getinfo) &&
         find_function(library, "curl_easy_strerror", f.easy_strerror) &&
         find_function(library, "curl_slist_append", f.slist_append) &&
         find_function(library, "curl_slist_free_all", f.slist_free_all) && f.global_init(kGlobalAll) == 0;
}

// Loaded for good, as its threads and TLS library do not outlive an unloading.
const Functions* functions() {
  static Functions loaded;
  static const bool there = [] {
    for (const char* name : {"libcurl.so.4", "libcurl-gnutls.so.4", "libcurl.4.dylib"}) {
      void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
      if (library && load(library, loaded)) return true;
    }
    return false;
  }();
  return there ? &loaded : nullptr;
}

// One request under way, as libcurl's callbacks see it.
struct Exchange {
  const Functions& f;
  void* easy;
  const BodySink& sink;
  const std::atomic<bool>& cancelled;
  bool is_post = false;
  uint64_t skip = 0;  // of a server that sent all of it
  Status failed;

  bool wanted() {
    long status = 0;
    f.easy_getinfo(easy, kResponseCode, &status);
    if (status != kHttpPartial && status != kHttpOk)
      return is_post && (status / 100 == 2 || status == kHttpTooMany);
    if (status == kHttpPartial) skip = 0;
    return true;
  }
  size_t take(std::string_view piece) {
    if (!wanted()) return piece.size();
    const uint64_t skipped = std::min<uint64_t>(skip, piece.size());
    skip -= skipped;
    if (skipped < piece.size()) failed = sink(piece.substr(skipped));
    return failed.ok() ? piece.size() : 0;
  }
  static size_t on_body(char* data, size_t size, size_t count, void* self) {
    return static_cast<Exchange*>(self)->take({data, size * count});
  }
  static int on_progress(void* self, int64_t, int64_t, int64_t, int64_t) {
    return static_cast<Exchange*>(self)->cancelled.load() ? 1 : 0;
  }
};

class CurlTransport final : public Transport {
 public:
  CurlTransport(const Functions& f, void* easy, CurlOptions options)
      : f_(f), easy_(easy), options_(std::move(options)) {}
  ~CurlTransport() override { f_.easy_cleanup(easy_); }

  std::string name() const override { return "libcurl"; }
  void cancel() override { cancelled_.store(true); }

  Result<int> get(const HttpGet& request, const BodySink& body) override {
    Exchange exchange{.f = f_, .easy = easy_, .sink = body, .cancelled = cancelled_, .failed = {}};
    exchange.skip = request.from;
    f_.easy_reset(easy_);
    const std::string range = std::to_string(request.from) + "-";
    f_.easy_setopt(easy_, kHttpGet, 1L);
    f_.easy_setopt(easy_, kFollowLocation, 1L);
    f_.easy_setopt(easy_, kMaxRedirects, kMostRedirects);
    if (request.from > 0) f_.easy_setopt(easy_, kRange, range.c_str());
    return perform(request.url, request.headers, exchange);
  }

  Result<int> post(const HttpPost& request, const BodySink& body) override {
    Exchange exchange{.f = f_, .easy = easy_, .sink = body, .cancelled = cancelled_, .failed = {}};
    exchange.is_post = true;
    f_.easy_reset(easy_);
    f_.easy_setopt(easy_, kPost, 1L);
    f_.easy_setopt(easy_, kPostFields, request.body.data());
    f_.easy_setopt(easy_, kPostFieldSize, static_cast<long>(request.body.size()));
    std::vector<HttpHeader> headers = request.headers;
    headers.push_back({"Content-Type", request.content_type});
    // Without it libcurl waits a second for a "100 Continue" that most servers never send.
    headers.push_back({"Expect", ""});
    return perform(request.url, headers, exchange);
  }

 private:
  Result<int> perform(const std::string& url, const std::vector<HttpHeader>& headers, Exchange& exchange) {
    std::array<char, kErrorBytes> why{};
    void* list = nullptr;
    for (const HttpHeader& header : headers) {
      const std::string line = header.name + ":" + (header.value.empty() ? "" : " " + header.value);
      if (void* longer = f_.slist_append(list, line.c_str())) list = longer;
    }
    set_common(url, list, why.data(), exchange);
    const int code = f_.easy_perform(easy_);
    long status = 0;
    f_.easy_getinfo(easy_, kResponseCode, &status);
    if (list) f_.slist_free_all(list);
    if (!exchange.failed.ok()) return exchange.failed.take_error();
    if (cancelled_.load()) return cancelled_error("a request", {"'", url, "'"});
    if (code != 0)
      return network_error(why[0] ? why.data() : f_.easy_strerror(code), "a reply", {"'", url, "'"},
                           "check the address and the network");
    return static_cast<int>(status);
  }

  void set_common(const std::string& url, void* headers, char* why, Exchange& exchange) {
    const bool plain = url.starts_with("http://");
    f_.easy_setopt(easy_, kUrl, url.c_str());
    f_.easy_setopt(easy_, kErrorBuffer, why);
    f_.easy_setopt(easy_, kHttpHeader, headers);
    f_.easy_setopt(easy_, kNoSignal, 1L);
    f_.easy_setopt(easy_, kTcpNoDelay, 1L);
    f_.easy_setopt(easy_, kConnectTimeoutMs, static_cast<long>(options_.connect_ms));
    f_.easy_setopt(easy_, kLowSpeedLimit, static_cast<long>(options_.stall_bytes));
    f_.easy_setopt(easy_, kLowSpeedTime, static_cast<long>(options_.stall_s));
    // A redirect leaves TLS for nothing less.
    f_.easy_setopt(easy_, kProtocols, plain ? kHttpOnly | kHttpsOnly : kHttpsOnly);
    f_.easy_setopt(easy_, kRedirectProtocols, plain ? kHttpOnly | kHttpsOnly : kHttpsOnly);
    if (!options_.authorities.empty()) f_.easy_setopt(easy_, kCaInfo, options_.authorities.c_str());
    f_.easy_setopt(easy_, kWriteFunction, &Exchange::on_body);
    f_.easy_setopt(easy_, kWriteData, &exchange);
    f_.easy_setopt(easy_, kNoProgress, 0L);
    f_.easy_setopt(easy_, kProgressFunction, &Exchange::on_progress);
    f_.easy_setopt(easy_, kProgressData, &exchange);
  }

  const Functions& f_;
  void* easy_;
  CurlOptions options_;
  std::atomic<bool> cancelled_{false};
};
}  // namespace

Result<std::unique_ptr<Transport>> curl_transport(CurlOptions options) {
  const Functions* const f = functions();
  void* const easy = f ? f->easy_init() : nullptr;
  if (!easy)
    return resource_error("no libcurl.so.4", "libcurl", "the transport 'libcurl'",
                          "install libcurl (Debian: libcurl4), or give a transport of the app's own")
        .of_kind(base::ErrorKind::not_supported);
  return std::unique_ptr<Transport>(new CurlTransport(*f, easy, std::move(options)));
}

}  // namespace walle::link
