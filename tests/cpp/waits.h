#pragma once

#include <chrono>
#include <thread>

// How long tests wait for what another thread is to do: as long as a slow machine with more work than cores
// may take. A wait ends when what it waits for holds, so that a long one costs nothing where the test passes.
namespace walle {

inline constexpr std::chrono::seconds kPatience{120};

// Whether something came to hold.
template <typename Holds>
bool until(Holds holds, std::chrono::steady_clock::duration within = kPatience) {
  const auto end = std::chrono::steady_clock::now() + within;
  while (!holds()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

}  // namespace walle
