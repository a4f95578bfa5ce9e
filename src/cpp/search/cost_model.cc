#include "search/cost_model.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <tuple>

#include "base/hash.h"

namespace walle::search {

namespace {
using backends::DeviceProfile;
using backends::Quantity;

constexpr size_t at(Quantity q) { return static_cast<size_t>(q); }

// What no table lists is priced as a scalar loop, of which a core does about one operation per ns and reads
// some 5 GB/s, or as a vector kernel at half of what the slowest of the fitted ones reaches.
constexpr CostRow kPlain{"", "", {1, 0.2, 0.2, 0.2, 0.2, 4, 1, 1000}};
constexpr CostRow kVector{"", "", {0.03, 0.05, 0.05, 0.1, 0.2, 50, 0.03, 1000}};

// An estimate for devices that nobody measured: an enqueued transfer on a phone or over PCIe starts in tens
// of microseconds and moves several GB/s, and a kernel's launch costs about as much as that start.
constexpr double kCopyStartNs = 20e3;
constexpr double kCopyByteNs = 1 / 6.0;
constexpr double kLaunchNs = 10e3;

// A row of a table as it is compiled in: characters and not pointers, so that nothing is relocated or built
// at load, and floats, which hold the four digits that a file says. As statements that filled vectors the
// tables were 30 KB of libwalle more.
struct FittedRow {
  char kernel[32];
  char isa[16];
  float ns[kPriced];
};
#define WALLE_COST_TABLE(...)
#define WALLE_COST_PROFILE(...)
#define WALLE_COST_ROW(kernel, isa, ...) {kernel, isa, {__VA_ARGS__}},
constexpr FittedRow kZen4[] = {
#include "search/tables/zen4.inc"
};
constexpr FittedRow kZen3[] = {
#include "search/tables/zen3.inc"
};
constexpr FittedRow kNeoverseN1[] = {
#include "search/tables/neoverse_n1.inc"
};
#undef WALLE_COST_TABLE
#undef WALLE_COST_PROFILE
#undef WALLE_COST_ROW

void add_rows(std::span<const FittedRow> fitted, CostTable& to) {
  for (const FittedRow& r : fitted) {
    CostRow& row = to.rows.emplace_back(CostRow{r.kernel, r.isa, {}});
    std::ranges::copy(r.ns, row.ns.begin());
  }
}

std::tuple<std::string_view, std::string_view> key(const CostRow& r) { return {r.kernel, r.isa}; }

// How much longer than the fitted machine this one takes for each quantity.
std::array<double, kPriced> ratios(const DeviceProfile& fitted, const DeviceProfile& here, bool vectors) {
  const double step = here.step / fitted.step;
  const double flop = vectors ? here.flop / fitted.flop : step;
  std::array<double, kPriced> out{};
  out[at(Quantity::flop)] = flop;
  out[at(Quantity::l1_bytes)] = here.l1_byte / fitted.l1_byte;
  out[at(Quantity::l2_bytes)] = here.l2_byte / fitted.l2_byte;
  out[at(Quantity::l3_bytes)] = here.l3_byte / fitted.l3_byte;
  out[at(Quantity::memory_bytes)] = here.memory_byte / fitted.memory_byte;
  out[at(Quantity::tiles)] = step;
  out[at(Quantity::tails)] = flop;
  out[at(Quantity::calls)] = step;
  return out;
}

// Beside a set, at a rate of its own where both machines' are known.
std::array<double, kPriced> bf16_ratios(const DeviceProfile& fitted, const DeviceProfile& here) {
  std::array<double, kPriced> out = ratios(fitted, here, true);
  if (fitted.bf16_flop > 0 && here.bf16_flop > 0)
    out[at(Quantity::flop)] = out[at(Quantity::tails)] = here.bf16_flop / fitted.bf16_flop;
  return out;
}

// What tiles of AMX do while vectors of the form beside them do one product, measured on Sapphire Rapids, 128
// x 768 x 768: of bfloat16 790 GFLOP/s, where float32 has 110 and vdpbf16ps half of that; of bytes 2,220 and
// 635. By their instructions 16 of float32's and 8 of VNNI's.
struct AmxForm {
  const char* name;
  const char* beside;
  double products;
};
constexpr AmxForm kAmxForms[] = {{"amx_bf16", "avx512_bf16", 8}, {"amx_int8", "avx512_vnni", 3.5}};
// Behind each tile of a convolution its sums become codes, which takes longer than the products of 64
// channels.
constexpr double kAmxCodes = 2;

// Winograd's transforms take what they took, and are most of it: 2.1 times what an eighth of all would be.
constexpr double kAmxWinograd = 4;

// Those of bfloat16 are told by float32's rate, as that of vectors may be anything between its half and its
// double.
std::array<double, kPriced> amx_ratios(const AmxForm& form, std::string_view kernel,
                                       const DeviceProfile& fitted, const DeviceProfile& here) {
  std::array<double, kPriced> out = ratios(fitted, here, true);
  const bool bf16 = form.beside == std::string_view("avx512_bf16") && fitted.bf16_flop > 0;
  out[at(Quantity::flop)] = here.flop / (bf16 ? fitted.bf16_flop : fitted.flop) / form.products;
  if (kernel == "blocked_conv_int8") out[at(Quantity::flop)] *= kAmxCodes;
  if (kernel.find("winograd") != std::string_view::npos) out[at(Quantity::flop)] *= kAmxWinograd;
  out[at(Quantity::tails)] = out[at(Quantity::flop)];
  return out;
}

void scale(CostRow& row, const std::array<double, kPriced>& by) {
  for (size_t i = 0; i < by.size(); ++i) row.ns[i] *= by[i];
}

// The profile whose rows stand in for the machine's: of its own instruction set, or of the one whose
// arithmetic is nearest (four lanes of another architecture are nearer to four lanes here than to sixteen).
const DeviceProfile& nearest(const CostTable& table, const DeviceProfile& machine) {
  return *std::ranges::min_element(table.profiles, {}, [&](const DeviceProfile& p) {
    return p.isa == machine.isa ? -1.0 : std::abs(std::log(p.flop / machine.flop));
  });
}

// Products by tiles, which no table lists either: they pack and leave as those beside them do.
void add_amx(const CostTable& table, const DeviceProfile* machine, std::vector<CostRow>& out) {
  const auto set = std::ranges::find(table.profiles, std::string_view("avx512"), &DeviceProfile::isa);
  if (set == table.profiles.end() || (machine && machine->isa != "avx512")) return;
  for (const AmxForm& form : kAmxForms)
    for (const CostRow& r : table.rows) {
      if (r.isa != form.beside) continue;
      CostRow& mine = out.emplace_back(r);
      mine.isa = form.name;
      scale(mine, amx_ratios(form, r.kernel, *set, machine ? *machine : *set));
    }
}

// Kernels of products of float16, which those of bfloat16 stand for.
constexpr std::string_view kHalfForm = "neon_fp16";
struct HalfKernel {
  std::string_view of, here;
};
constexpr HalfKernel kHalves[] = {{"gemm_bf16", "gemm_fp16"},
                                  {"gemm_bf16_rows", "gemm_fp16_rows"},
                                  {"gemm_bf16_computed_b", "gemm_fp16_computed_b"},
                                  {"blocked_window_bf16", "blocked_window_fp16"},
                                  {"blocked_pointwise_bf16", "blocked_pointwise_fp16"},
                                  {"blocked_from_rows_bf16", "blocked_from_rows_fp16"}};

// What stands beside a set there and here: products of two 16-bit numbers in every lane, of four int8, which
// a form of eight has too.
struct LikeForm {
  std::string_view isa, of, here;
};
constexpr LikeForm kLikeForms[] = {{"avx512_bf16", "avx512", "neon_bf16"},
                                   {"avx512_bf16", "avx512", kHalfForm},
                                   {"avx_vnni", "avx2", "neon_dot"},
                                   {"avx_vnni", "avx2", "neon_i8mm"}};

// Rows of forms of ARM64, which no table lists, by the ratio of what the two sets do.
void add_forms(const CostTable& table, const DeviceProfile& machine, std::vector<CostRow>& out) {
  if (machine.isa != "neon") return;
  for (const LikeForm& form : kLikeForms) {
    const auto set = std::ranges::find(table.profiles, form.of, &DeviceProfile::isa);
    if (set == table.profiles.end()) continue;
    const auto by = form.here.ends_with("_bf16") ? bf16_ratios(*set, machine) : ratios(*set, machine, true);
    for (const CostRow& r : table.rows) {
      if (r.isa != form.isa) continue;
      CostRow mine = r;
      if (form.here == kHalfForm) {
        const auto half = std::ranges::find(kHalves, r.kernel, &HalfKernel::of);
        if (half == std::end(kHalves)) continue;
        mine.kernel = half->here;
      }
      mine.isa = form.here;
      scale(mine, by);
      out.push_back(mine);
    }
  }
}

// Rows that a table of one set has not, by the ratio of the profiles: kernels that no table lists are priced
// so that they are not taken.
void complete(CostTable& table, const CostTable& first) {
  const DeviceProfile& here = table.profiles.front();  // whose set the rows name
  const DeviceProfile& from = nearest(first, here);
  const std::string_view set = here.isa;
  const std::span<const CostRow> own(table.rows.data(), table.rows.size());
  std::vector<CostRow> lent;
  const auto lend = [&](const CostRow& row, std::string_view isa) {
    const auto same = [&](const CostRow& r) { return r.kernel == row.kernel && r.isa == isa; };
    if (std::ranges::any_of(own, same)) return;
    CostRow& mine = lent.emplace_back(row);
    mine.isa = isa;
    scale(mine, ratios(from, here, !isa.empty()));
  };
  for (const CostRow& r : first.rows)
    if (r.isa.empty() || r.isa == from.isa) lend(r, r.isa.empty() ? r.isa : set);
  add_forms(first, here, lent);
  table.rows.insert(table.rows.end(), lent.begin(), lent.end());
}
}  // namespace

CostModel::CostModel(const CostTable& table, DeviceProfiles devices)
    : name_(table.name), rows_(table.rows), plain_(kPlain), vector_(kVector), devices_(std::move(devices)) {
  add_amx(table, nullptr, rows_);
  finish();
}

CostModel::CostModel(const CostTable& table, const DeviceProfile& machine, std::string_view named,
                     DeviceProfiles devices)
    : name_(std::string(table.name) + " scaled by " + std::string(named)),
      isa_(machine.isa),
      plain_(kPlain),
      vector_(kVector),
      devices_(std::move(devices)) {
  const DeviceProfile& fitted = nearest(table, machine);
  const auto plain = ratios(fitted, machine, false);
  const auto vectors = ratios(fitted, machine, true);
  const auto bf16 = bf16_ratios(fitted, machine);
  for (const CostRow& r : table.rows) {
    // Rows of other sets would be another machine's: with WALLE_CPU another profile is measured. What stands
    // beside a set (avx512_vnni, avx512_bf16) has no profile, and its rows are for whoever can run it.
    const bool of_a_set =
        std::ranges::find(table.profiles, r.isa, &DeviceProfile::isa) != table.profiles.end();
    if (of_a_set && r.isa != fitted.isa) continue;
    CostRow& mine = rows_.emplace_back(r);
    scale(mine, r.isa.empty() ? plain : r.isa.ends_with("_bf16") ? bf16 : vectors);
    if (r.isa == fitted.isa) mine.isa = isa_;
  }
  add_forms(table, machine, rows_);
  add_amx(table, &machine, rows_);
  scale(plain_, plain);
  scale(vector_, vectors);
  finish();
}

void CostModel::finish() {
  std::ranges::stable_sort(rows_, {}, key);
  base::Hasher hash;
  const auto add = [&](const CostRow& r) {
    hash.text(r.kernel).text(r.isa);
    for (const double ns : r.ns) hash.value(ns);
  };
  std::ranges::for_each(rows_, add);
  add(plain_);
  add(vector_);
  for (const auto& [name, device] : devices_) {
    hash.text(name).value(device.launch);
    for (const backends::Way& way : device.ways)
      hash.text(way.memory).value(way.in.start).value(way.in.byte).value(way.out.start).value(way.out.byte);
  }
  fingerprint_ = hash.value(kCopyStartNs).value(kCopyByteNs).value(kLaunchNs).finish();
}

const CostRow& CostModel::row(const backends::Features& f) const {
  const std::tuple wanted(f.kernel, f.isa);
  const auto found = std::ranges::lower_bound(rows_, wanted, {}, key);
  if (found != rows_.end() && key(*found) == wanted) return *found;
  return f.isa.empty() ? plain_ : vector_;
}

const DeviceProfile* CostModel::device(std::string_view backend) const {
  const auto found =
      std::ranges::find(devices_, backend, [](const auto& d) { return std::string_view(d.first); });
  return found == devices_.end() ? nullptr : &found->second;
}

double CostModel::ms(const backends::Features& f, std::string_view backend) const {
  const CostRow& r = row(f);
  double shared = 0;
  for (size_t i = 0; i < r.ns.size(); ++i)
    if (i != at(Quantity::calls)) shared += r.ns[i] * f.amount[i];
  const DeviceProfile* measured = f[Quantity::launches] > 0 ? device(backend) : nullptr;
  const double launch = measured ? measured->launch : kLaunchNs;
  const double starts = r.ns[at(Quantity::calls)] * f[Quantity::calls] + launch * f[Quantity::launches];
  const double ms = (shared / std::max(f.threads, 1) + starts) / 1e6;
  // Work of more than a double holds is a number all the same: infinity stands for "cannot run" in a search.
  return std::isfinite(ms) ? ms : std::numeric_limits<double>::max();
}

double CostModel::copy_ms(int64_t bytes) const {
  return (kCopyStartNs + static_cast<double>(bytes) * kCopyByteNs) / 1e6;
}

const std::vector<CostTable>& cost_tables() {
  static const std::vector<CostTable> tables = [] {
    std::vector<CostTable> out;
#define WALLE_COST_TABLE(name, devices) out.push_back({name, devices, {}, {}});
#define WALLE_COST_PROFILE(...) out.back().profiles.push_back({__VA_ARGS__});
#define WALLE_COST_ROW(...)
#include "search/tables/zen4.inc"
    // Zen 4's stays the first: it has rows for every instruction set, and machines without a table get it.
    add_rows(kZen4, out.back());
#include "search/tables/zen3.inc"
    add_rows(kZen3, out.back());
#include "search/tables/neoverse_n1.inc"
    add_rows(kNeoverseN1, out.back());
    complete(out.back(), out.front());
#undef WALLE_COST_TABLE
#undef WALLE_COST_PROFILE
#undef WALLE_COST_ROW
    return out;
  }();
  return tables;
}

const CostModel& reference_costs() {
  static const CostModel model(cost_tables().front());
  return model;
}

}  // namespace walle::search
