#include "backends/measure_way.h"

#include <algorithm>
#include <limits>

#include "backends/host_memory.h"

namespace walle::backends {

namespace {
constexpr int kRounds = 5;  // the least of so many: what else runs only adds
// Two sizes make a line. The small one is a page, whose bytes cost less than any start; the large one takes
// much longer than the start on every bus, and fits the memory of every device.
constexpr int64_t kSmall = 4 << 10;
constexpr int64_t kLarge = 8 << 20;
// What a clock of microseconds may take for nothing is something all the same.
constexpr double kLeastStart = 1;
constexpr double kLeastByte = 1e-6;

class Copies {
 public:
  Copies(Memory& memory, Handle device, std::byte* host, const std::function<int64_t()>& now_ns)
      : memory_(memory), device_(device), host_(host), now_ns_(now_ns) {}

  Result<Transfer> in() const {
    return line([this](int64_t bytes) -> Status {
      WALLE_TRY(memory_.copy_in(device_, host_, bytes));
      return memory_.flush();
    });
  }
  Result<Transfer> out() const {
    return line([this](int64_t bytes) { return memory_.copy_out(host_, device_, bytes); });
  }

 private:
  template <class Copy>
  Result<double> least_ns(int64_t bytes, const Copy& copy) const {
    double best = std::numeric_limits<double>::infinity();
    for (int i = 0; i < kRounds; ++i) {
      const int64_t begin = now_ns_();
      WALLE_TRY(copy(bytes));
      best = std::min(best, static_cast<double>(now_ns_() - begin));
    }
    return best;
  }

  template <class Copy>
  Result<Transfer> line(const Copy& copy) const {
    WALLE_ASSIGN(const double small, least_ns(kSmall, copy));
    WALLE_ASSIGN(const double large, least_ns(kLarge, copy));
    const double byte = std::max((large - small) / static_cast<double>(kLarge - kSmall), kLeastByte);
    return Transfer{.start = std::max(small - byte * static_cast<double>(kSmall), kLeastStart), .byte = byte};
  }

  Memory& memory_;
  Handle device_;
  std::byte* host_;
  const std::function<int64_t()>& now_ns_;
};
}  // namespace

std::optional<Way> measure_way(Memory& memory, const std::function<int64_t()>& now_ns) {
  auto device = Block::allocate(memory, kLarge);
  auto host = Buffer::allocate(static_cast<size_t>(kLarge));
  if (!device.ok() || !host.ok()) return std::nullopt;
  // Written once: pages that nobody has touched are no memory yet.
  std::fill_n(host->data(), kLarge, std::byte{0});
  const Copies copies(memory, device->handle(), host->data(), now_ns);
  const Result<Transfer> in = copies.in();
  const Result<Transfer> out = copies.out();
  if (!in.ok() || !out.ok()) return std::nullopt;
  return Way{.memory = std::string(host_memory().name()), .in = *in, .out = *out};
}

}  // namespace walle::backends
