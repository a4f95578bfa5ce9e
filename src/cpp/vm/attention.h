// Attention: what a calling thread attends to beside its call: somebody who may want the call to end.
//
// Asked by the thread that runs the call, every tenth of a second or so and from inside the task's code; it
// may use other isolates meanwhile.
#pragma once

namespace walle::vm {

class Attention {
 public:
  virtual ~Attention() = default;
  // True: the call ends as cancelled.
  virtual bool must_stop() = 0;
};

}  // namespace walle::vm
