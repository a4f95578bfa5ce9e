"""What a task may import: every module on the device flavour (no compiler), with its documented behaviour."""

# ruff: noqa: E501 (one line per promise)
from __future__ import annotations

import threading
from typing import Any

import pytest

from walle_rt.vm import VM, Isolate, TaskBundle

# One script per module: imports it and asserts what its documentation promises.
CHECKS: dict[str, str] = {
    "abc": "class A(abc.ABC):\n  @abc.abstractmethod\n  def f(self): pass\ntry: A()\nexcept TypeError: pass\nelse: assert 0",
    "array": "a = array.array('d', [1, 2]); a.append(3); assert a.tolist() == [1, 2, 3] and a.itemsize == 8",
    "base64": "assert base64.b64encode(b'walle') == b'd2FsbGU='; assert base64.b32decode(base64.b32encode(b'x')) == b'x'",
    "binascii": "assert binascii.hexlify(b'\\xab') == b'ab' and binascii.crc32(b'123456789') == 0xcbf43926",
    "bisect": "a = [1, 3, 5]; bisect.insort(a, 4); assert a == [1, 3, 4, 5] and bisect.bisect_left(a, 3) == 1",
    "calendar": "assert calendar.isleap(2024) and calendar.monthrange(2023, 2) == (2, 28)",
    "cmath": "assert abs(cmath.exp(1j * cmath.pi) + 1) < 1e-12",
    "codecs": "assert codecs.lookup_error('strict') and codecs.BOM_UTF8 == b'\\xef\\xbb\\xbf'",
    "collections": (
        "P = collections.namedtuple('P', 'x y', defaults=[7]); p = P(1)\n"
        "assert p == (1, 7) and p._replace(y=2).y == 2 and repr(p) == 'P(x=1, y=7)' and P(y=1, x=2).x == 2\n"
        "W = collections.namedtuple('W', ['f%d' % i for i in range(20)]); assert W(*range(20)).f19 == 19\n"
        "assert collections.Counter('aab').most_common(1) == [('a', 2)]\n"
        "d = collections.defaultdict(list); d['k'].append(1); assert d == {'k': [1]}\n"
        "assert list(collections.deque([1, 2, 3], maxlen=2)) == [2, 3]\n"
        "assert collections.ChainMap({'a': 1}, {'a': 2, 'b': 3})['b'] == 3\n"
        "try: P(1, 2, 3)\nexcept TypeError: pass\nelse: assert 0"
    ),
    "collections.abc": "assert issubclass(dict, collections.abc.Mapping)",
    "colorsys": "assert colorsys.rgb_to_hsv(1, 0, 0) == (0.0, 1.0, 1)",
    "contextlib": (
        "@contextlib.contextmanager\ndef c():\n  yield 1\nwith c() as x: assert x == 1\n"
        "with contextlib.suppress(KeyError): {}['x']\nwith contextlib.ExitStack() as s: s.callback(lambda: None)"
    ),
    "contextvars": "v = contextvars.ContextVar('v', default=1); t = v.set(2); assert v.get() == 2; v.reset(t); assert v.get() == 1",
    "copy": "a = [[1]]; b = copy.deepcopy(a); b[0].append(2); assert a == [[1]] and copy.copy(a)[0] is a[0]",
    "copyreg": "assert callable(copyreg.pickle)",
    "dataclasses": (
        "@dataclasses.dataclass(order=True)\nclass A:\n  x: int\n  y: list = dataclasses.field(default_factory=list)\n  z: int = 3\n"
        "a = A(1); assert a == A(1, [], 3) and repr(a).endswith('A(x=1, y=[], z=3)') and a.y is not A(1).y and A(1) < A(2)\n"
        "assert dataclasses.asdict(a) == {'x': 1, 'y': [], 'z': 3} and dataclasses.replace(a, x=5).x == 5\n"
        "assert [f.name for f in dataclasses.fields(A)] == ['x', 'y', 'z'] and A.__match_args__ == ('x', 'y', 'z')\n"
        "@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)\nclass F:\n  k: int\n  i: dataclasses.InitVar[int] = 0\n"
        "f = F(k=1); assert hash(f) == hash(F(k=1))\n"
        "try: f.k = 2\nexcept dataclasses.FrozenInstanceError: pass\nelse: assert 0\n"
        "for bad in (lambda: A(), lambda: A(1, 2, 3, 4), lambda: A(1, q=2), lambda: A(1, x=2), lambda: F(1)):\n"
        "  try: bad()\n  except TypeError: pass\n  else: assert 0\n"
        "@dataclasses.dataclass\nclass P:\n  a: int\n  b: dataclasses.InitVar[int]\n  c: int = dataclasses.field(init=False)\n"
        "  def __post_init__(self, b): self.c = self.a + b\nassert P(1, 2).c == 3\n"
        "@dataclasses.dataclass\nclass C(P):\n  d: int = 9\nassert C(1, 2).d == 9 and C(1, 2, d=3).d == 3\n"
        "M = dataclasses.make_dataclass('M', ['x', ('y', int, 5)]); assert M(1).y == 5"
    ),
    "datetime": (
        "d = datetime.datetime(2024, 2, 29, 12, tzinfo=datetime.timezone.utc)\n"
        "assert d.isoformat() == '2024-02-29T12:00:00+00:00' and (d + datetime.timedelta(days=1)).day == 1\n"
        "assert datetime.datetime.fromisoformat(d.isoformat()) == d and d.strftime('%Y/%m/%d') == '2024/02/29'\n"
        "assert datetime.datetime.strptime('2024-03-01 10:20', '%Y-%m-%d %H:%M').hour == 10"
    ),
    "enum": (
        "class E(enum.Enum):\n  A = 1\n  B = enum.auto()\nassert E(2) is E.B and E['A'].value == 1 and list(E) == [E.A, E.B]\n"
        "class F(enum.IntFlag):\n  X = 1\n  Y = 2\nassert F.X | F.Y == 3 and F.X in F(3)\nassert enum.StrEnum('S', 'a b').a == 'a'"
    ),
    "fractions": "assert fractions.Fraction(1, 3) + fractions.Fraction('1/6') == fractions.Fraction(1, 2)",
    "functools": (
        "@functools.lru_cache\ndef f(n): return n if n < 2 else f(n - 1) + f(n - 2)\nassert f(80) == 23416728348467685\n"
        "assert functools.reduce(lambda a, b: a * b, range(1, 6)) == 120 and functools.partial(int, base=2)('101') == 5\n"
        "@functools.singledispatch\ndef g(x): return 'o'\n@g.register\ndef _(x: int): return 'i'\nassert g(1) == 'i' and g('') == 'o'\n"
        "class C:\n  @functools.cached_property\n  def p(self): return []\nc = C(); assert c.p is c.p"
    ),
    "graphlib": "assert list(graphlib.TopologicalSorter({'b': {'a'}, 'c': {'b'}}).static_order()) == ['a', 'b', 'c']",
    "hashlib": (
        "assert hashlib.sha256(b'abc').hexdigest().startswith('ba7816bf') and hashlib.md5(b'').hexdigest()[:8] == 'd41d8cd9'\n"
        "assert hashlib.new('sha1', b'abc').hexdigest()[:8] == 'a9993e36'\n"
        "assert hashlib.pbkdf2_hmac('sha256', b'password', b'salt', 1).hex().startswith('120fb6cffcf8b32c')"
    ),
    "heapq": "h = [5, 1, 4]; heapq.heapify(h); assert heapq.heappop(h) == 1 and heapq.nlargest(1, h) == [5]",
    "hmac": "assert hmac.new(b'key', b'msg', 'sha256').hexdigest().startswith('2d93cbc1') and hmac.compare_digest('a', 'a')",
    "io": (
        "s = io.StringIO('a\\nb\\n'); assert list(s) == ['a\\n', 'b\\n']; s.write('c'); assert s.getvalue() == 'a\\nb\\nc'\n"
        "b = io.BytesIO(); b.write(b'12345'); b.seek(1); b.write(b'X'); assert b.getvalue() == b'1X345' and b.read() == b'345'"
    ),
    "itertools": (
        "assert list(itertools.islice(itertools.count(3), 2)) == [3, 4] and list(itertools.batched('abc', 2)) == [('a', 'b'), ('c',)]\n"
        "assert len(list(itertools.permutations('abcd', 2))) == 12 and [k for k, _ in itertools.groupby('aab')] == ['a', 'b']"
    ),
    "json": (
        "x = {'a': [1, 2.5, None, True, 'ü\\n'], 'b': {}}; assert json.loads(json.dumps(x)) == x\n"
        "assert json.dumps({'b': 1, 'a': 2}, sort_keys=True, indent=1) == '{\\n \"a\": 2,\\n \"b\": 1\\n}'\n"
        "try: json.loads('[1,]')\nexcept json.JSONDecodeError as e: assert e.pos == 2 or e.pos == 3\nelse: assert 0\n"
        "import io\nassert json.load(io.StringIO('[1]')) == [1]"
    ),
    "keyword": "assert keyword.iskeyword('for') and not keyword.iskeyword('walle')",
    "locale": "assert locale.setlocale(locale.LC_ALL, None) == 'C'",
    "math": "assert math.isclose(math.sin(math.pi / 6), .5) and math.gcd(12, 18) == 6 and math.comb(5, 2) == 10 and math.prod([2, 3]) == 6",
    "numbers": "assert isinstance(1, numbers.Integral) and not isinstance(1.0, numbers.Integral)",
    "operator": "assert operator.itemgetter(1)([1, 2]) == 2 and operator.attrgetter('real')(3) == 3 and operator.add(1, 2) == 3",
    "pprint": "assert pprint.pformat({'a': 1}) == \"{'a': 1}\"",
    "queue": "q = queue.PriorityQueue(); q.put(2); q.put(1); assert q.get_nowait() == 1 and q.qsize() == 1",
    "random": (
        "r = random.Random(1); assert r.random() == 0.13436424411240122 and r.randrange(10) in range(10)\n"
        "assert sorted(r.sample(range(9), 9)) == list(range(9)) and 0 <= random.random() < 1 and random.choice([3]) == 3"
    ),
    "re": (
        "m = re.match(r'(?P<y>\\d{4})-(\\d\\d)', '2024-05'); assert m['y'] == '2024' and m.groups() == ('2024', '05')\n"
        "assert re.sub(r'(a)(b)', r'\\2\\1', 'ab') == 'ba' and re.split(r'[,;]', 'a,b;c') == ['a', 'b', 'c']\n"
        "assert re.findall(r'(?i)X', 'xX') == ['x', 'X'] and re.compile('(?<=a)b').search('ab').start() == 1"
    ),
    "reprlib": "assert reprlib.repr(list(range(100))).endswith(', ...]')",
    "secrets": "assert len(secrets.token_bytes(8)) == 8 and secrets.token_hex(4) != secrets.token_hex(4)",
    "statistics": "assert statistics.mean([1, 2, 3]) == 2 and statistics.median([3, 1, 2]) == 2 and statistics.stdev([1, 3]) == 2 ** .5",
    "string": "assert string.Template('$a!').substitute(a=1) == '1!' and string.ascii_lowercase[:3] == 'abc' and string.Formatter().format('{:>3}', 1) == '  1'",
    "struct": "assert struct.unpack('<hI', struct.pack('<hI', -2, 7)) == (-2, 7) and struct.calcsize('<hI') == 6",
    "textwrap": "assert textwrap.wrap('aa bb cc', 5) == ['aa bb', 'cc'] and textwrap.dedent('  a\\n  b') == 'a\\nb'",
    "threading": "l = threading.local(); l.x = 1; assert l.x == 1\nwith threading.RLock(): pass\ne = threading.Event(); e.set(); assert e.wait(0)",
    "time": "a = time.monotonic(); time.sleep(0.001); assert time.monotonic() > a and time.time() > 1.6e9 and time.gmtime(0).tm_year == 1970",
    "traceback": "try: 1 / 0\nexcept ZeroDivisionError: s = traceback.format_exc()\nassert 'ZeroDivisionError: division by zero' in s and 'main' in s",
    "types": "assert isinstance(lambda: 0, types.FunctionType) and types.SimpleNamespace(a=1).a == 1 and types.MappingProxyType({1: 2})[1] == 2",
    "typing": (
        "T = typing.TypeVar('T')\nclass B(typing.Generic[T]): pass\nassert B[int].__origin__ is B\n"
        "class N(typing.NamedTuple):\n  x: int\n  y: 'str' = 'd'\nassert N(1) == (1, 'd')\n"
        "class D(typing.TypedDict, total=False):\n  k: int\nassert D(k=1) == {'k': 1}\n"
        "def f(x: 'int', y: typing.Optional['str'] = None) -> typing.List['int']: ...\nassert typing.get_type_hints(f, globals())['x'] is int\n"
        "class P(typing.Protocol):\n  def m(self): ...\nassert typing.cast(int, 'x') == 'x' and typing.get_args(typing.Dict[str, int]) == (str, int)"
    ),
    "warnings": "with warnings.catch_warnings(): warnings.simplefilter('error')\nassert callable(warnings.warn)",
    "weakref": "class C: pass\nc = C(); r = weakref.ref(c); assert r() is c; del c; assert r() is None\nassert len(weakref.WeakValueDictionary()) == 0",
}
ABSENT = ["socket", "subprocess", "ctypes", "asyncio", "multiprocessing", "signal", "pickle", "importlib", "inspect", "ast", "sqlite3", "ssl",
          "tempfile", "pathlib", "shutil", "urllib", "http", "zipfile", "_io", "posix", "numpy", "decimal"]  # fmt: skip


def test_at_least_38_modules() -> None:
    assert len(CHECKS) >= 38


@pytest.mark.parametrize("flavour", ["device", "full"])
@pytest.mark.parametrize("name", CHECKS)
def test_module(vm: VM, device: VM, flavour: str, name: str) -> None:
    body = "\n".join("    " + line for line in CHECKS[name].splitlines())
    bundle = TaskBundle.from_source(
        {"main": f"import {name}\ndef f():\n    global e, f, c, d\n{body}\n    return 'done'\n"}, vm
    )
    target = device if flavour == "device" else vm
    with Isolate(target) as isolate:
        isolate.load(TaskBundle(bundle.data, target))
        assert isolate.call("f") == "done"


def test_everything_in_the_library_imports(device: VM) -> None:
    for name in device.library:
        with Isolate(device) as isolate:
            isolate.call("load", name, module="_warm")


@pytest.mark.parametrize("name", ABSENT)
def test_absent(isolate: Isolate, name: str) -> None:
    isolate.run(f"try:\n    import {name}\nexcept ModuleNotFoundError:\n    pass\nelse:\n    raise AssertionError\n")


def test_eight_isolates_import_everything_at_once(device: VM) -> None:
    errors: list[BaseException] = []

    def body() -> None:
        try:
            with Isolate(device) as isolate:
                for name in device.library:
                    isolate.call("load", name, module="_warm")
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=body) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors, errors[0]


def test_text_codecs(task: Any) -> None:
    source = "def f(text, name):\n    return text.encode(name).decode(name)\n"
    isolate = task(source)
    for name in ("utf-8", "utf-16", "utf-32", "latin-1", "ascii", "UTF-8"):
        assert isolate.call("f", "abc", name) == "abc"
