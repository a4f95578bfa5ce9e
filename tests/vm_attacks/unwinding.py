"""Tasks that do not want to end."""

from __future__ import annotations

_BODIES = {
    "loop": "while True: pass",
    "catch-all": (
        "while True:\n        try:\n            while True: pass\n        except BaseException: pass"
    ),
    "finally": "try:\n        while True: pass\n    finally:\n        while True: pass",
    "with": (
        "class S:\n        def __enter__(s): return s\n        def __exit__(s, *a): return True\n"
        "    while True:\n        with S():\n            while True: pass"
    ),
    "recursion in handlers": (
        "def g():\n        try:\n            while True: pass\n        except BaseException: g()\n"
        "    while True: g()"
    ),
    "generator": (
        "def g():\n        while True:\n            try: yield 1\n"
        "            except BaseException: pass\n    sum(g())"
    ),
    "destructor": (
        "class D:\n        def __del__(s):\n            while True: pass\n    D()\n    while True: D()"
    ),
    "resurrection": (
        "k = []\n    class D:\n        def __del__(s):\n            k.append(s)\n"
        "            while True: pass\n    while True:\n        D(); k.clear()"
    ),
    "hash": "class H:\n        def __hash__(s):\n            while True: pass\n    {H()}",
    "comparison": (
        "class H:\n        def __lt__(s, o):\n            while True:\n                try:\n"
        "                    while True: pass\n                except BaseException: pass\n"
        "    sorted([H(), H()])"
    ),
    "repr in an error": (
        "class R(Exception):\n        def __str__(s):\n            while True: pass\n    raise R"
    ),
    "callback of a weak reference": (
        "import weakref\n    class C: pass\n    def g(r):\n        while True: pass\n    c = C()\n"
        "    r = weakref.ref(c, g)\n    del c"
    ),
    "collector": (
        "import gc\n    def g(*a):\n        while True: pass\n    gc.callbacks.append(g)\n    gc.collect()"
    ),
    "trace": "import sys\n    def t(*a): return t\n    sys.settrace(t)\n    while True: pass",
    "profile": "import sys\n    sys.setprofile(lambda *a: None)\n    while True: abs(1)",
    "monitoring": (
        "import sys\n    m = sys.monitoring\n    m.use_tool_id(0, 'x')\n"
        "    m.register_callback(0, 32, lambda *a: None)\n    m.set_events(0, 32)\n    while True: pass"
    ),
    "sleep": "import time\n    time.sleep(1e9)",
    "lock": "import threading\n    l = threading.Lock()\n    l.acquire()\n    l.acquire()",
    "recursive lock": "import threading\n    c = threading.Condition()\n    c.acquire()\n    c.wait()",
    "event": "import threading\n    threading.Event().wait()",
    "queue": "import queue\n    queue.Queue().get()",
    "thread": "import threading\n    threading.Thread(target=print).start()",
    "join": "import threading\n    threading.main_thread().join()",
    "exit": "import sys\n    sys.exit(1)",
    "hard exit": "raise SystemExit(2)",
    "interrupt": "raise KeyboardInterrupt",
    "async": "async def g():\n        while True: pass\n    g().send(None)",
    "async generator": (
        "async def g():\n        while True: yield 1\n    async def h():\n"
        "        async for i in g(): pass\n    h().send(None)"
    ),
    "exceptions of exceptions": "def g():\n        try: g()\n        finally: g()\n    g()",
    "groups": "e = ValueError()\n    while True: e = ExceptionGroup('x', [e])",
    "recursion": "def g(): g()\n    g()",
    "recursion limit": "import sys\n    sys.setrecursionlimit(10**9)\n    def g(): g()\n    g()",
    "excepthook": (
        "import sys\n    sys.excepthook = sys.unraisablehook = lambda *a: f()\n    class D:\n"
        "        def __del__(s): 1 / 0\n    while True: D()"
    ),
    "modules": "import sys\n    sys.modules.clear()\n    import json",
    "builtins": "import builtins\n    builtins.__dict__.clear()\n    print(1)",
    "import": "import builtins\n    builtins.__import__ = lambda *a: f()\n    import json",
    "stdout": (
        "import sys\n    class O:\n        def write(s, t): print(t)\n    sys.stdout = O()\n    print(1)"
    ),
    "switch interval": "import sys\n    sys.setswitchinterval(1e9)\n    while True: pass",
    "await for ever": (
        "class A:\n        def __await__(s):\n            while True: yield\n"
        "    async def g(): await A()\n    c = g()\n    while True: c.send(None)"
    ),
}

SCRIPTS = {name: f"def f():\n    {body}\n" for name, body in _BODIES.items()}
