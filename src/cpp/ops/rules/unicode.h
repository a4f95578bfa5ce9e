// Letters of UTF-8 text: their code points, and their upper and lower case.
//
// Case is that of Unicode's tables for each letter alone (tools/unicode_case.py): "straße" becomes "STRASSE",
// and no language or neighbour is asked - neither Turkish i nor the sigma at the end of a Greek word.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace walle::ops {

// Code points; a byte that is no UTF-8 stands for itself. `starts`: the byte each began with, and the end.
std::u32string decoded(const std::string& text, std::vector<size_t>* starts = nullptr);

// Bytes that are no UTF-8 stay as they are.
std::string lower_case(const std::string& text);
std::string upper_case(const std::string& text);

// Every letter with another one that differs from it in case only, both ways.
void for_each_case(const std::function<void(char32_t letter, char32_t other)>& visit);

}  // namespace walle::ops
