// Vectors that grow by a sixteenth: memory per task counts more here than the copying at deployment, and a
// matcher's account of its memory (Matcher::memory_bytes) is capacity, not size.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace walle::stream::tight {

template <class T>
void make_room(std::vector<T>& v) {
  // + 1, or vectors of fewer than 16 would never grow.
  if (v.size() == v.capacity()) v.reserve(v.size() + v.size() / 16 + 1);
}

template <class T, class U>
void push(std::vector<T>& v, U value) {  // by value: it may lie in the vector
  make_room(v);
  v.push_back(value);
}

template <class T>
void grow_to(std::vector<T>& v, size_t size) {
  if (v.size() >= size) return;
  if (v.capacity() < size) v.reserve(size + size / 16 + 1);
  v.resize(size);
}

template <class T>
size_t bytes(const std::vector<T>& v) {
  return v.capacity() * sizeof(T);
}
// None for what a string holds within itself.
inline size_t bytes(const std::string& s) {
  return s.capacity() > std::string().capacity() ? s.capacity() + 1 : 0;
}

}  // namespace walle::stream::tight
