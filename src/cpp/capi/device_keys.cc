// The C API over link::DeviceKey.
#include "capi/app_keys.h"
#include "capi/guard.h"
#include "container/device/in_callback.h"

namespace walle::capi {

namespace {
constexpr const char* kConnect = "walle_device_connect";
// A P-256 key in PEM takes 250 bytes, a request 400, a signature at most 72; stores may write names into
// them.
constexpr size_t kMostPemBytes = 16'384, kMostSignatureBytes = 128;

// What a function has written into `out`, which says how much that is.
Result<std::string> answer(std::string out, int64_t size, const char* function) {
  if (size <= 0 || static_cast<uint64_t>(size) > out.size())
    return resource_error({function, "() of the app's keys returned ", size}, {"1 to ", out.size(), " bytes"},
                          "the device's key", "look at what the app's key store says");
  out.resize(static_cast<size_t>(size));
  return out;
}

class AppKey final : public link::DeviceKey {
 public:
  AppKey(const walle_keys_t& keys, std::string pem) : k_(keys), pem_(std::move(pem)) {}

  Result<std::string> private_pem() const override { return pem_; }
  Result<std::string> request(const std::string&) const override {
    std::string out(kMostPemBytes, '\0');
    const container::InCallback mark;
    const int64_t size = k_.request(k_.user, pem_.c_str(), out.data(), out.size());
    return answer(std::move(out), size, "request");
  }
  bool is_of(std::string_view certificate) const override {
    const std::string text(certificate);  // with the zero that C wants
    const container::InCallback mark;
    return k_.is_of(k_.user, pem_.c_str(), text.c_str()) != 0;
  }
  Result<std::string> sign(std::string_view message) const override {
    std::string out(kMostSignatureBytes, '\0');
    const container::InCallback mark;
    const int64_t size =
        k_.sign(k_.user, pem_.c_str(), message.data(), message.size(), out.data(), out.size());
    return answer(std::move(out), size, "sign");
  }

 private:
  const walle_keys_t k_;
  const std::string pem_;
};

class AppKeys final : public link::KeyStore {
 public:
  explicit AppKeys(const walle_keys_t& keys) : k_(keys) {}

  Result<std::unique_ptr<link::DeviceKey>> make() override {
    std::string out(kMostPemBytes, '\0');
    const container::InCallback mark;
    const int64_t size = k_.make(k_.user, out.data(), out.size());
    WALLE_ASSIGN(const std::string pem, answer(std::move(out), size, "make"));
    return read(pem);
  }
  // Whether it can be read is seen when it is used.
  Result<std::unique_ptr<link::DeviceKey>> read(std::string_view pem) override {
    return std::unique_ptr<link::DeviceKey>(std::make_unique<AppKey>(k_, std::string(pem)));
  }

 private:
  const walle_keys_t k_;
};
}  // namespace

Result<std::unique_ptr<link::KeyStore>> app_keys(const walle_keys_t* given) {
  if (!given) return std::unique_ptr<link::KeyStore>();
  walle_keys_t keys{};
  WALLE_TRY(copy_struct(*given, keys, "walle_keys_t", kConnect));
  if (!keys.make || !keys.request || !keys.is_of || !keys.sign)
    return argument_error("keys without one of their functions", "make, request, is_of and sign", kConnect,
                          "give all four");
  return std::unique_ptr<link::KeyStore>(std::make_unique<AppKeys>(keys));
}

}  // namespace walle::capi
