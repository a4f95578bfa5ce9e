// IPV: the item page view feature of the Walle paper: what a user did on one item page, as a fixed vector of
// floats, and its encoding by one dense layer with tanh.
#pragma once

#include <array>
#include <span>

#include "stream/event/event.h"

namespace walle::stream {

// Sizes chosen for the paper's: 21 KB of events become a feature of 1.3 KB and a code of 128 bytes.
inline constexpr size_t kIpvHead = 12;   // numbers of the page as a whole
inline constexpr size_t kIpvBins = 64;   // of the page's time
inline constexpr size_t kIpvItems = 32;  // most exposed items
inline constexpr size_t kIpvFloats = kIpvHead + 4 * kIpvBins + 2 * kIpvItems;  // 332 floats, 1,328 bytes
inline constexpr size_t kIpvCode = 32;                                         // floats: 128 bytes

struct IpvFields {  // positions of the fields used, in their events' contents; -1: absent
  int scroll_depth = -1, exposure_item = -1, click_item = -1;
};

// [0..11]: dwell s, counts of scroll/exposure/click, deepest scroll, mean and variance of scroll depth,
// turns, distinct exposed items, click-through rate, time to first click s, clicks per second; then four
// histograms over the page's time (scrolls, exposures, clicks, deepest scroll), then exposures and clicks of
// the most exposed items, in order. Precondition: events of one page instance in order. Allocates nothing.
void ipv_feature(std::span<const Event> events, const Catalog& catalog, const IpvFields& fields,
                 std::span<float, kIpvFloats> out);

// code = tanh(weights x feature + bias), weights [kIpvCode][kIpvFloats].
void ipv_encode(std::span<const float, kIpvFloats> feature, std::span<const float> weights,
                std::span<const float> bias, std::span<float, kIpvCode> out);

}  // namespace walle::stream
