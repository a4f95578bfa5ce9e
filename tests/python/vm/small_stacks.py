"""A call on a thread with a small stack.

A process of its own: the C library gives a new thread the stack of an ended one where that is large enough,
so that elsewhere "small" depends on which threads ended before.

    python -m tests.python.vm.small_stacks KILOBYTES

Prints what the call ended with - "1" or the limit that it exceeded - and what the next one on a large stack
returns.
"""

from __future__ import annotations

import sys
import threading

from walle_rt.vm import VM, Isolate, TaskBundle, TaskFailed

SOURCE = """
def f():
    import json
    try: json.loads('[' * 100000)
    except RecursionError: pass
    x = []
    for _ in range(10**5): x = [x]
    del x
    return 1
def ok():
    return 42
"""


def main(kilobytes: int) -> None:
    vm = VM()
    isolate = Isolate(vm)
    isolate.load(TaskBundle.from_source({"main": SOURCE}, vm))

    def body() -> None:
        try:
            print(isolate.call("f"))
        except TaskFailed as error:
            print(error.limit)

    threading.stack_size(kilobytes << 10)
    thread = threading.Thread(target=body)
    thread.start()
    thread.join()
    print(isolate.call("ok"))


if __name__ == "__main__":
    main(int(sys.argv[1]))
