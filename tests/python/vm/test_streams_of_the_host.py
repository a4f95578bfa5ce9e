"""Nothing that a task does writes to the process's own streams."""

from __future__ import annotations

from commands import run_python

from walle_rt.vm import VM

PROGRAM = """
from walle_rt.vm import Isolate, TaskFailed
DO = '''
sys.__excepthook__(ValueError, ValueError(1), None)
sys.excepthook(KeyError, KeyError(1), None)
gc.set_debug(gc.DEBUG_STATS | gc.DEBUG_COLLECTABLE | gc.DEBUG_UNCOLLECTABLE); gc.collect()
warnings.warn('x', UserWarning)
D(); gc.collect()
sys.unraisablehook(None)
sys.displayhook(5)
print('x', file=sys.stderr)
compile('n is 5', 'a', 'exec')
sys._debugmallocstats()
sys._baserepl()
sys.breakpointhook()
sys.exit('text')
'''.strip().splitlines()
for streams in ("del sys.stderr, sys.stdout", *(f"sys.stderr = sys.stdout = {x}" for x in (None, 5))):
    for line in DO:
        with Isolate() as isolate:
            isolate.run("import gc, sys, warnings\\nclass D:\\n    def __del__(self): 1 / 0\\n" + streams)
            try:
                isolate.run("def f():\\n    " + line)
                isolate.call("f")
            except TaskFailed:
                pass
print("done")
"""


def test_a_task_without_streams_writes_to_nobodys(vm: VM) -> None:
    """run_python fails where there is a word on stderr."""
    assert run_python(PROGRAM).stdout == "done\n"
