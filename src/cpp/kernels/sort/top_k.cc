#include "kernels/sort/top_k.h"

#include <algorithm>
#include <bit>
#include <type_traits>

#include "base/limits.h"

namespace walle::kernels {

namespace {
// A number whose order among unsigned ones is that of the elements: NaN after every other, both zeros alike.
template <class T>
auto ordered(T v) {
  if constexpr (std::is_floating_point_v<T>) {
    using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
    if (v != v) return ~Bits{0};
    const auto bits = std::bit_cast<Bits>(v + T(0));
    constexpr Bits kSign = Bits{1} << (8 * sizeof(T) - 1);
    return bits & kSign ? ~bits : bits | kSign;
  } else {
    using Bits = std::make_unsigned_t<T>;
    constexpr auto kSign = static_cast<Bits>(std::is_signed_v<T> ? Bits{1} << (8 * sizeof(T) - 1) : 0);
    return static_cast<Bits>(static_cast<Bits>(v) ^ kSign);
  }
}

// What is sorted: the element's order, then its position, so that no two are equal and ties come by the lower
// index, which ONNX TopK asks for in both directions. Without looking at the elements again: comparing 200
// of 1,024 through their positions takes three times as long.
template <class T>
struct Narrow {
  // What a key of T leaves: positions in 32 bits beside 4 bytes, which no tensor has more of.
  using Entry = uint64_t;
  static constexpr int kPlaceBits = 64 - 8 * static_cast<int>(sizeof(T));
  static uint64_t of(uint64_t key, int64_t at) { return key << kPlaceBits | static_cast<uint64_t>(at); }
  static int64_t at(uint64_t entry) {
    return static_cast<int64_t>(entry & ((uint64_t{1} << kPlaceBits) - 1));
  }
};
static_assert(base::kMaxTensorBytes / 4 <= int64_t{1} << 32);
struct Wide {
  struct Entry {
    uint64_t key;
    int64_t place;
    bool operator<(const Entry& other) const {
      return (key < other.key) | ((key == other.key) & (place < other.place));
    }
  };
  static Entry of(uint64_t key, int64_t at) { return {key, at}; }
  static int64_t at(const Entry& entry) { return entry.place; }
};
template <class T>
using Places = std::conditional_t<sizeof(T) <= 4, Narrow<T>, Wide>;
template <class T>
using EntryOf = typename Places<T>::Entry;

// Not within every type's loop: each is three kilobytes.
template <class Entry>
[[gnu::noinline]] void sort_first(Entry* entries, int64_t k) {
  std::sort(entries, entries + k);
}
template <class Entry>
[[gnu::noinline]] void move_first(Entry* entries, int64_t k, int64_t n) {
  std::nth_element(entries, entries + k - 1, entries + n);
}

template <class T>
class Line {
 public:
  using Entry = EntryOf<T>;
  Line(const TopK& s, const T* x, Entry* room) : s_(s), x_(x), room_(room) {}

  // The first k in order stand at the beginning of the room.
  void select() {
    // Of what stands further behind than the k-th so far nothing is kept; the k-th is looked for anew
    // whenever as many again have been kept.
    const int64_t full = std::min(s_.axis, 2 * s_.k + kBlock);
    for (; i_ < full; ++i_) room_[i_] = entry(i_);
    kept_ = full;
    while (i_ < s_.axis) {
      cut();
      const Entry last = room_[s_.k - 1];
      take(last, full);
    }
    if (kept_ > s_.k) cut();
    sort_first(room_, s_.k);
  }

 private:
  // Of 64 almost every block of 1,024 numbers holds one of the first ten so far.
  static constexpr int64_t kBlock = 16;

  Entry entry(int64_t i) const {
    const auto key = ordered(x_[i * s_.inner]);
    return Places<T>::of(s_.largest ? static_cast<decltype(key)>(~key) : key, i);
  }

  void cut() {
    move_first(room_, s_.k, kept_);
    kept_ = s_.k;
  }

  // Until as many again have been kept or the line ends. Positions only grow, so that what is kept never
  // meets what is still to be read.
  void take(const Entry last, int64_t full) {
    const T bound = x_[Places<T>::at(last) * s_.inner];
    while (i_ < s_.axis && kept_ < 2 * s_.k) {
      if (s_.inner == 1 && s_.axis - i_ >= kBlock && !any_before(x_ + i_, bound)) {
        i_ += kBlock;
        continue;
      }
      // Without a branch: whether one is kept is as good as random.
      for (const int64_t end = i_ + std::min({kBlock, s_.axis - i_, full - kept_}); i_ < end; ++i_) {
        room_[kept_] = entry(i_);
        kept_ += room_[kept_] < last;
      }
    }
  }

  // Whether one of a block may stand before the bound; NaN on either side may.
  bool any_before(const T* x, T bound) const {
    const bool largest = s_.largest;
    const auto before = [largest, bound](T v) { return largest ? !(v <= bound) : !(v >= bound); };
    // Before SSE4.2 processors compare 64 bits one by one, so that the first one found may end it.
    if constexpr (sizeof(T) == 8) return std::any_of(x, x + kBlock, before);
    int found = 0;
    if (largest)
      for (int64_t i = 0; i < kBlock; ++i) found |= !(x[i] <= bound);
    else
      for (int64_t i = 0; i < kBlock; ++i) found |= !(x[i] >= bound);
    return found != 0;
  }

  const TopK& s_;
  const T* x_;
  Entry* room_;
  int64_t i_ = 0;
  int64_t kept_ = 0;
};

template <class T>
void top_k(const TopK& s, const T* x, T* values, int64_t* indices, EntryOf<T>* room) {
  for (int64_t o = 0; o < s.outer; ++o) {
    for (int64_t i = 0; i < s.inner; ++i) {
      const T* run = x + o * s.axis * s.inner + i;
      const int64_t to = o * s.k * s.inner + i;
      Line<T>(s, run, room).select();
      for (int64_t r = 0; r < s.k; ++r) {
        const int64_t at = Places<T>::at(room[r]);
        if (values) values[to + r * s.inner] = run[at * s.inner];
        if (indices) indices[to + r * s.inner] = at;
      }
    }
  }
}
}  // namespace

int64_t top_k_scratch_bytes(const TopK& spec, DType dtype) {
  const bool wide = tensor::dtype_size(dtype) > 4;
  return spec.axis * static_cast<int64_t>(wide ? sizeof(Wide::Entry) : sizeof(uint64_t));
}

void run_top_k(const TopK& spec, DType dtype, const void* x, void* values, int64_t* indices,
               std::byte* scratch) {
  if (spec.k == 0) return;
  const DType as = dtype == DType::boolean ? DType::uint8 : dtype;
  tensor::visit_numeric(as, [&](auto tag) {
    using T = typename decltype(tag)::type;
    top_k(spec, static_cast<const T*>(x), static_cast<T*>(values), indices,
          reinterpret_cast<EntryOf<T>*>(scratch));
  });
}

}  // namespace walle::kernels
