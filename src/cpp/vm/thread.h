// Threads with a chosen stack: std::thread cannot, and how deep a task may recurse is a matter of stack.
#pragma once

#include <cstddef>
#include <functional>

namespace walle::vm {

// Starts a detached thread; false when the system refuses.
bool start_thread(size_t stack_bytes, std::function<void()> body);
// What the calling thread has left; 0 where the system does not say.
size_t stack_left();
// Runs `body` on a thread of its own and waits. Falls back to the calling thread when no thread can be had.
void run_on_thread(size_t stack_bytes, const std::function<void()>& body);

}  // namespace walle::vm
