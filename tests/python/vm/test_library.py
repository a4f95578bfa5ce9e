"""What a task may import: every module on the device flavour (no compiler), with its documented behaviour."""

from __future__ import annotations

import re
import threading
from pathlib import Path
from typing import Any

import pytest
from fresh import fresh_call

from walle_rt import ArgumentError
from walle_rt.vm import VM, Isolate, TaskBundle, TaskFailed
from walle_rt.vm.pool import Pool

# One script per module: imports it and asserts what its documentation promises.
CHECKS: dict[str, str] = {
    "abc": (
        "class A(abc.ABC):\n"
        "  @abc.abstractmethod\n"
        "  def f(self): pass\n"
        "  @property\n"
        "  @abc.abstractmethod\n"
        "  def p(self): pass\n"
        "try: A()\n"
        "except TypeError as e: assert 'abstract' in str(e)\n"
        "else: assert 0\n"
        "class B(A):\n"
        "  def f(self): return 1\n"
        "  p = 2\n"
        "assert B().f() == 1 and A.__abstractmethods__ == {'f', 'p'}\n"
        "class V: pass\n"
        "A.register(V)\n"
        "assert issubclass(V, A) and isinstance(V(), A)"
    ),
    "array": (
        "a = array.array('d', [1, 2]); a.append(3); assert a.tolist() == [1, 2, 3] and a.itemsize == 8\n"
        "b = array.array('i', b'\\1\\0\\0\\0\\2\\0\\0\\0'); "
        "assert list(b) == [1, 2] and b.tobytes()[:1] == b'\\1'\n"
        "b.byteswap(); assert b[0] == 1 << 24\n"
        "b.extend([3, 4]); assert b.pop() == 4 and b.index(3) == 2 and len(b[1:]) == 2\n"
        "try: array.array('b', [200])\n"
        "except OverflowError: pass\n"
        "else: assert 0\n"
        "assert memoryview(a)[1] == 2.0"
    ),
    "base64": (
        "assert base64.b64encode(b'walle') == b'd2FsbGU='; "
        "assert base64.b32decode(base64.b32encode(b'x')) == b'x'\n"
        "assert base64.urlsafe_b64encode(b'\\xfb\\xff') == b'-_8=' "
        "and base64.b16decode(b'ff', casefold=True) == b'\\xff'\n"
        "assert base64.b85decode(base64.b85encode(b'hello')) == b'hello' "
        "and base64.a85encode(b'test') == b'FCfN8'\n"
        "try: base64.b64decode('YQ=*', validate=True)\n"
        "except ValueError: pass\n"
        "else: assert 0"
    ),
    "binascii": (
        "assert binascii.hexlify(b'\\xab') == b'ab' and binascii.crc32(b'123456789') == 0xcbf43926\n"
        "assert binascii.unhexlify('0aff') == b'\\n\\xff' "
        "and binascii.b2a_base64(b'a', newline=False) == b'YQ=='\n"
        "try: binascii.unhexlify('0g')\n"
        "except binascii.Error: pass\n"
        "else: assert 0"
    ),
    "bisect": (
        "a = [1, 3, 5]; bisect.insort(a, 4); "
        "assert a == [1, 3, 4, 5] and bisect.bisect_left(a, 3) == 1 and bisect.bisect(a, 3) == 2\n"
        "assert bisect.bisect_left(['aa', 'b', 'cccc'], 3, lo=2, key=len) == 2 "
        "and bisect.bisect_right([1, 1, 1], 1, hi=2) == 2"
    ),
    "calendar": (
        "assert calendar.isleap(2024) and not calendar.isleap(1900) "
        "and calendar.monthrange(2023, 2) == (2, 28)\n"
        "assert calendar.weekday(2024, 2, 29) == calendar.THURSDAY and calendar.leapdays(2000, 2025) == 7\n"
        "assert calendar.Calendar().monthdayscalendar(2024, 9)[0] == [0, 0, 0, 0, 0, 0, 1] "
        "and calendar.timegm((1970, 1, 2, 0, 0, 0)) == 86400\n"
        "assert calendar.month(2024, 2).splitlines()[0].strip() == 'February 2024' "
        "and calendar.day_abbr[0] == 'Mon'"
    ),
    "cmath": (
        "assert abs(cmath.exp(1j * cmath.pi) + 1) < 1e-12 and cmath.sqrt(-1) == 1j "
        "and cmath.phase(-1) == cmath.pi\n"
        "assert cmath.isclose(cmath.rect(*cmath.polar(3 + 4j)), 3 + 4j) and cmath.isnan(complex('nan'))"
    ),
    "codecs": (
        "assert codecs.lookup_error('strict') and codecs.BOM_UTF8 == b'\\xef\\xbb\\xbf'\n"
        "assert codecs.decode(b'\\xc3\\xa9', 'utf-8') == '\\xe9' "
        "and codecs.encode('\\xe9', 'latin-1') == b'\\xe9'\n"
        "codecs.register_error('dash', lambda e: ('-', e.end)); "
        "assert 'a\\xe9'.encode('ascii', 'dash') == b'a-'\n"
        "assert 'a\\xe9'.encode('ascii', 'backslashreplace') == b'a\\\\xe9'\n"
        "assert codecs.lookup('UTF8').name == 'utf-8' "
        "and codecs.encode('a', 'utf-16')[2:] == codecs.encode('a', 'utf-16-le')\n"
        "d = codecs.getincrementaldecoder('utf-8')(); "
        "assert d.decode(b'\\xc3') == '' and d.decode(b'\\xa9') == '\\xe9'\n"
        "assert b''.join(codecs.iterencode(['a', 'b'], 'ascii')) == b'ab' "
        "and codecs.getencoder('latin-1')('x') == (b'x', 1)\n"
        "try: codecs.lookup('cp1252')\n"
        "except LookupError as e: assert 'cp1252' in str(e)\n"
        "else: assert 0"
    ),
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
    "colorsys": (
        "assert colorsys.rgb_to_hsv(1, 0, 0) == (0.0, 1.0, 1) and colorsys.hsv_to_rgb(0, 1, 1) == (1, 0, 0)\n"
        "assert colorsys.rgb_to_hls(1, 1, 1)[1] == 1 "
        "and [round(x, 6) for x in colorsys.yiq_to_rgb(*colorsys.rgb_to_yiq(.2, .4, .6))] == [.2, .4, .6]"
    ),
    "contextlib": (
        "@contextlib.contextmanager\n"
        "def c():\n"
        "  yield 1\n"
        "with c() as x: assert x == 1\n"
        "with contextlib.suppress(KeyError): {}['x']\n"
        "seen = []\n"
        "with contextlib.ExitStack() as s: s.callback(seen.append, 1); s.callback(seen.append, 2)\n"
        "assert seen == [2, 1]\n"
        "class R:\n"
        "  def close(self): seen.append('closed')\n"
        "with contextlib.closing(R()): pass\n"
        "assert seen[-1] == 'closed'\n"
        "with contextlib.nullcontext(5) as n: assert n == 5\n"
        "@contextlib.contextmanager\n"
        "def eats():\n"
        "  try: yield\n"
        "  except ValueError: seen.append('eaten')\n"
        "with eats(): raise ValueError\n"
        "assert seen[-1] == 'eaten'\n"
        "@c()\n"
        "def decorated(): return 7\n"
        "assert decorated() == 7"
    ),
    "contextvars": (
        "v = contextvars.ContextVar('v', default=1); t = v.set(2); assert v.get() == 2; v.reset(t); "
        "assert v.get() == 1\n"
        "k = contextvars.copy_context(); k.run(v.set, 5); assert k[v] == 5 and v.get() == 1\n"
        "try: contextvars.ContextVar('w').get()\n"
        "except LookupError: pass\n"
        "else: assert 0"
    ),
    "copy": (
        "a = [[1]]; b = copy.deepcopy(a); b[0].append(2); assert a == [[1]] and copy.copy(a)[0] is a[0]\n"
        "loop = []; loop.append(loop); l = copy.deepcopy(loop); assert l[0] is l and l is not loop\n"
        "class C:\n"
        "  def __init__(self): self.x = [1]\n"
        "  def __deepcopy__(self, memo): return 'mine'\n"
        "assert copy.deepcopy({'k': C()}) == {'k': 'mine'} and copy.copy(C()).x == [1]"
    ),
    "copyreg": (
        "class C:\n"
        "  def __init__(self, x): self.x = x\n"
        "copyreg.pickle(C, lambda c: (C, (c.x + 1,)))\n"
        "import copy\n"
        "assert copy.copy(C(1)).x == 2\n"
        "try: copyreg.pickle(C, 3)\n"
        "except TypeError: pass\n"
        "else: assert 0"
    ),
    "csv": (
        "import io\n"
        "rows = list(csv.reader(io.StringIO('a,\"b, c\"\\r\\n1,2\\r\\n')))\n"
        "assert rows == [['a', 'b, c'], ['1', '2']]\n"
        "out = io.StringIO(); w = csv.DictWriter(out, ['x', 'y'], lineterminator='|'); w.writeheader()\n"
        "w.writerow({'x': 1, 'y': 'q\"'}); assert out.getvalue() == 'x,y|1,\"q\"\"\"|'\n"
        "assert next(csv.DictReader(['k,v', 'a,1'])) == {'k': 'a', 'v': '1'}\n"
        "assert not hasattr(csv, 'Sniffer')\n"
        "try: list(csv.reader(['\"open'], strict=True))\n"
        "except csv.Error: pass\n"
        "else: assert 0"
    ),
    "dataclasses": (
        "@dataclasses.dataclass(order=True)\nclass A:\n  x: int\n"
        "  y: list = dataclasses.field(default_factory=list)\n  z: int = 3\n"
        "a = A(1); assert a == A(1, [], 3) and repr(a).endswith('A(x=1, y=[], z=3)') "
        "and a.y is not A(1).y and A(1) < A(2)\n"
        "assert dataclasses.asdict(a) == {'x': 1, 'y': [], 'z': 3} and dataclasses.replace(a, x=5).x == 5\n"
        "assert [f.name for f in dataclasses.fields(A)] == ['x', 'y', 'z'] "
        "and A.__match_args__ == ('x', 'y', 'z')\n"
        "@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)\nclass F:\n  k: int\n"
        "  i: dataclasses.InitVar[int] = 0\n"
        "f = F(k=1); assert hash(f) == hash(F(k=1))\n"
        "try: f.k = 2\nexcept dataclasses.FrozenInstanceError: pass\nelse: assert 0\n"
        "for bad in (lambda: A(), lambda: A(1, 2, 3, 4), lambda: A(1, q=2), lambda: A(1, x=2), "
        "lambda: F(1)):\n"
        "  try: bad()\n  except TypeError: pass\n  else: assert 0\n"
        "@dataclasses.dataclass\nclass P:\n  a: int\n  b: dataclasses.InitVar[int]\n"
        "  c: int = dataclasses.field(init=False)\n"
        "  def __post_init__(self, b): self.c = self.a + b\nassert P(1, 2).c == 3\n"
        "@dataclasses.dataclass\nclass C(P):\n  d: int = 9\nassert C(1, 2).d == 9 and C(1, 2, d=3).d == 3\n"
        "M = dataclasses.make_dataclass('M', ['x', ('y', int, 5)]); assert M(1).y == 5"
    ),
    "datetime": (
        "d = datetime.datetime(2024, 2, 29, 12, tzinfo=datetime.timezone.utc)\n"
        "assert d.isoformat() == '2024-02-29T12:00:00+00:00' and (d + datetime.timedelta(days=1)).day == 1\n"
        "assert datetime.datetime.fromisoformat(d.isoformat()) == d "
        "and d.strftime('%Y/%m/%d') == '2024/02/29'\n"
        "assert datetime.datetime.strptime('2024-03-01 10:20', '%Y-%m-%d %H:%M').hour == 10"
    ),
    "enum": (
        "class E(enum.Enum):\n  A = 1\n  B = enum.auto()\n"
        "assert E(2) is E.B and E['A'].value == 1 and list(E) == [E.A, E.B]\n"
        "class F(enum.IntFlag):\n  X = 1\n  Y = 2\nassert F.X | F.Y == 3 and F.X in F(3)\n"
        "assert enum.StrEnum('S', 'a b').a == 'a'"
    ),
    "fractions": (
        "F = fractions.Fraction\n"
        "assert F(1, 3) + F('1/6') == F(1, 2) and F(0.5) == F(1, 2) and F(-3, 6) == F(-1, 2) "
        "and F('1.25') == F(5, 4)\n"
        "assert F(22, 7).limit_denominator(5) == F(16, 5) and divmod(F(7, 2), 1) == (3, F(1, 2)) "
        "and round(F(7, 3), 1) == F(23, 10) and hash(F(2)) == hash(2)\n"
        "try: F(1, 0)\n"
        "except ZeroDivisionError: pass\n"
        "else: assert 0"
    ),
    "functools": (
        "@functools.lru_cache\ndef f(n): return n if n < 2 else f(n - 1) + f(n - 2)\n"
        "assert f(80) == 23416728348467685\n"
        "assert functools.reduce(lambda a, b: a * b, range(1, 6)) == 120 "
        "and functools.partial(int, base=2)('101') == 5\n"
        "@functools.singledispatch\ndef g(x): return 'o'\n@g.register\ndef _(x: int): return 'i'\n"
        "assert g(1) == 'i' and g('') == 'o'\n"
        "class C:\n  @functools.cached_property\n  def p(self): return []\nc = C(); assert c.p is c.p"
    ),
    "graphlib": (
        "assert list(graphlib.TopologicalSorter({'b': {'a'}, 'c': {'b'}}).static_order()) "
        "== ['a', 'b', 'c']\n"
        "s = graphlib.TopologicalSorter(); s.add(1, 2, 3); s.add(2, 3); s.prepare(); "
        "assert s.get_ready() == (3,); s.done(3); assert s.get_ready() == (2,) and s.is_active()\n"
        "try: graphlib.TopologicalSorter({1: {2}, 2: {1}}).prepare()\n"
        "except graphlib.CycleError as x: assert x.args[1][0] == x.args[1][-1]\n"
        "else: assert 0"
    ),
    "hashlib": (
        "assert hashlib.sha256(b'abc').hexdigest().startswith('ba7816bf') "
        "and hashlib.md5(b'').hexdigest()[:8] == 'd41d8cd9'\n"
        "assert hashlib.new('sha1', b'abc').hexdigest()[:8] == 'a9993e36'\n"
        "assert hashlib.pbkdf2_hmac('sha256', b'password', b'salt', 1).hex().startswith('120fb6cffcf8b32c')"
    ),
    "heapq": (
        "h = [5, 1, 4]; heapq.heapify(h); "
        "assert heapq.heappop(h) == 1 and heapq.nlargest(1, h) == [5] "
        "and heapq.nsmallest(2, [3, 1, 2], key=lambda x: -x) == [3, 2]\n"
        "heapq.heappush(h, 0); "
        "assert heapq.heappushpop(h, 9) == 0 and heapq.heapreplace(h, 2) == 4 "
        "and list(heapq.merge([1, 3], [2])) == [1, 2, 3]"
    ),
    "hmac": (
        "assert hmac.new(b'key', b'msg', 'sha256').hexdigest().startswith('2d93cbc1') "
        "and hmac.compare_digest('a', 'a') and not hmac.compare_digest(b'a', b'b')\n"
        "h = hmac.new(b'k', digestmod='sha1'); h.update(b'x'); k = h.copy(); k.update(b'y'); "
        "assert k.digest() == hmac.digest(b'k', b'xy', 'sha1') != h.digest() and h.digest_size == 20"
    ),
    "io": (
        "s = io.StringIO('a\\nb\\n'); assert list(s) == ['a\\n', 'b\\n']; s.write('c'); "
        "assert s.getvalue() == 'a\\nb\\nc'\n"
        "b = io.BytesIO(); b.write(b'12345'); b.seek(1); b.write(b'X'); "
        "assert b.getvalue() == b'1X345' and b.read() == b'345'"
    ),
    "itertools": (
        "assert list(itertools.islice(itertools.count(3), 2)) == [3, 4] "
        "and list(itertools.batched('abc', 2)) == [('a', 'b'), ('c',)]\n"
        "assert len(list(itertools.permutations('abcd', 2))) == 12 "
        "and [k for k, _ in itertools.groupby('aab')] == ['a', 'b']"
    ),
    "json": (
        "x = {'a': [1, 2.5, None, True, 'ü\\n'], 'b': {}}; assert json.loads(json.dumps(x)) == x\n"
        "assert json.dumps({'b': 1, 'a': 2}, sort_keys=True, indent=1) == '{\\n \"a\": 2,\\n \"b\": 1\\n}'\n"
        "try: json.loads('[1,]')\nexcept json.JSONDecodeError as e: assert e.pos == 2 or e.pos == 3\n"
        "else: assert 0\n"
        "import io\nassert json.load(io.StringIO('[1]')) == [1]"
    ),
    "keyword": (
        "assert keyword.iskeyword('for') and not keyword.iskeyword('walle') "
        "and keyword.issoftkeyword('match') and 'lambda' in keyword.kwlist and 'type' in keyword.softkwlist"
    ),
    "locale": (
        "assert locale.setlocale(locale.LC_ALL, None) == 'C' "
        "and locale.localeconv()['decimal_point'] == '.'\n"
        "try: locale.setlocale(locale.LC_ALL, 'de_DE')\n"
        "except locale.Error: pass\n"
        "else: assert 0"
    ),
    "math": "assert math.isclose(math.sin(math.pi / 6), .5) and math.gcd(12, 18) == 6 "
    "and math.comb(5, 2) == 10 and math.prod([2, 3]) == 6",
    "numbers": (
        "assert isinstance(1, numbers.Integral) and not isinstance(1.0, numbers.Integral) "
        "and isinstance(1.0, numbers.Real) and isinstance(1j, numbers.Complex)\n"
        "import fractions\n"
        "assert isinstance(fractions.Fraction(1), numbers.Rational) and not isinstance('1', numbers.Number)"
    ),
    "operator": (
        "assert operator.itemgetter(1)([1, 2]) == 2 and operator.attrgetter('real')(3) == 3 "
        "and operator.add(1, 2) == 3 and operator.itemgetter(0, 2)('abc') == ('a', 'c')\n"
        "assert operator.methodcaller('upper')('a') == 'A' and operator.index(True) == 1 "
        "and operator.concat([1], [2]) == [1, 2] and operator.countOf([1, 1, 2], 1) == 2\n"
        "a = [1]; assert operator.iadd(a, [2]) is a and a == [1, 2] "
        "and operator.length_hint(iter([1, 2])) == 2 and operator.truth([]) is False"
    ),
    "pprint": (
        "assert pprint.pformat({'b': 1, 'a': 2}) == \"{'a': 2, 'b': 1}\" "
        "and pprint.pformat({'b': 1, 'a': 2}, sort_dicts=False).startswith(\"{'b'\")\n"
        "text = pprint.pformat([list(range(30))] * 2, width=40); assert text.count('\\n') > 5\n"
        "loop = []; loop.append(loop); "
        "assert 'Recursion on list' in pprint.pformat(loop) and pprint.isreadable([1]) "
        "and pprint.saferepr('x') == \"'x'\"\n"
        "import dataclasses\n"
        "@dataclasses.dataclass\n"
        "class D:\n"
        "  x: int\n"
        "assert pprint.pformat(D(1)).endswith('D(x=1)')"
    ),
    "queue": (
        "q = queue.PriorityQueue(); q.put(2); q.put(1); assert q.get_nowait() == 1 and q.qsize() == 1\n"
        "f = queue.Queue(maxsize=1); f.put(1)\n"
        "try: f.put_nowait(2)\n"
        "except queue.Full: pass\n"
        "else: assert 0\n"
        "assert f.full() and f.get() == 1 and f.empty()\n"
        "try: f.get(timeout=0.01)\n"
        "except queue.Empty: pass\n"
        "else: assert 0\n"
        "l = queue.LifoQueue(); l.put(1); l.put(2); assert l.get() == 2; s = queue.SimpleQueue(); s.put(3); "
        "assert s.get() == 3"
    ),
    "random": (
        "r = random.Random(1); assert r.random() == 0.13436424411240122 and r.randrange(10) in range(10)\n"
        "assert sorted(r.sample(range(9), 9)) == list(range(9)) and 0 <= random.random() < 1 "
        "and random.choice([3]) == 3"
    ),
    "re": (
        "m = re.match(r'(?P<y>\\d{4})-(\\d\\d)', '2024-05'); "
        "assert m['y'] == '2024' and m.groups() == ('2024', '05')\n"
        "assert re.sub(r'(a)(b)', r'\\2\\1', 'ab') == 'ba' "
        "and re.split(r'[,;]', 'a,b;c') == ['a', 'b', 'c']\n"
        "assert re.findall(r'(?i)X', 'xX') == ['x', 'X'] and re.compile('(?<=a)b').search('ab').start() == 1"
    ),
    "reprlib": (
        "assert reprlib.repr(list(range(100))).endswith(', ...]') and len(reprlib.repr('x' * 99)) == 30\n"
        "class N:\n"
        "  @reprlib.recursive_repr('<loop>')\n"
        "  def __repr__(self): return 'N(' + repr(self.me) + ')'\n"
        "n = N(); n.me = n; assert repr(n) == 'N(<loop>)'"
    ),
    "secrets": (
        "assert len(secrets.token_bytes(8)) == 8 and secrets.token_hex(4) != secrets.token_hex(4) "
        "and len(secrets.token_urlsafe(16)) == 22\n"
        "assert 0 <= secrets.randbelow(10) < 10 and secrets.choice('ab') in 'ab' "
        "and secrets.compare_digest('a', 'a') and 0 <= secrets.randbits(8) < 256"
    ),
    "statistics": (
        "assert statistics.mean([1, 2, 3]) == 2 and statistics.median([3, 1, 2]) == 2 "
        "and statistics.stdev([1, 3]) == 2 ** .5 and statistics.mode('aab') == 'a'\n"
        "assert statistics.fmean([1, 2], weights=[3, 1]) == 1.25 and statistics.pvariance([1, 3]) == 1 "
        "and statistics.quantiles([1, 2, 3, 4], n=2) == [2.5] "
        "and statistics.multimode('aabb') == ['a', 'b']\n"
        "assert statistics.linear_regression([1, 2, 3], [2, 4, 6]).slope == 2 "
        "and round(statistics.NormalDist(0, 1).cdf(1.96), 3) == .975 "
        "and statistics.correlation([1, 2], [2, 4]) == 1\n"
        "try: statistics.mean([])\n"
        "except statistics.StatisticsError: pass\n"
        "else: assert 0"
    ),
    "string": (
        "assert string.Template('$a!').substitute(a=1) == '1!' and string.ascii_lowercase[:3] == 'abc' "
        "and string.Formatter().format('{:>3}', 1) == '  1'\n"
        "assert string.Template('${b} $$ $c').safe_substitute(b=2) == '2 $ $c' "
        "and string.capwords('a bc') == 'A Bc' and len(string.punctuation) == 32\n"
        "try: string.Template('$x').substitute()\n"
        "except KeyError: pass\n"
        "else: assert 0\n"
        "assert list(string.Formatter().parse('a{b!r:c}')) == [('a', 'b', 'c', 'r')]"
    ),
    "struct": (
        "assert struct.unpack('<hI', struct.pack('<hI', -2, 7)) == (-2, 7) "
        "and struct.calcsize('<hI') == 6 and struct.pack('>H3sx', 258, b'ab') == b'\\1\\2ab\\0\\0'\n"
        "b = bytearray(4); struct.pack_into('<H', b, 1, 513); "
        "assert b == b'\\0\\1\\2\\0' and struct.unpack_from('<H', b, 1) == (513,) "
        "and list(struct.iter_unpack('B', b'ab')) == [(97,), (98,)]\n"
        "assert struct.unpack('<e', struct.pack('<e', 1.5)) == (1.5,) and struct.Struct('<d').size == 8\n"
        "try: struct.pack('B', 256)\n"
        "except struct.error: pass\n"
        "else: assert 0"
    ),
    "fnmatch": (
        "assert fnmatch.fnmatch('a/B.txt', 'a/[A-C].t*') and not fnmatch.fnmatch('B', 'b')\n"
        "assert fnmatch.filter(['a.py', 'b.txt'], '*.py') == ['a.py']\n"
        "assert fnmatch.fnmatchcase('x', '?') and 'a' in fnmatch.translate('a*')\n"
    ),
    "shlex": (
        "assert shlex.split(\"a 'b c' d#e\") == ['a', 'b c', 'd#e'] and shlex.quote('a b') == \"'a b'\"\n"
        "assert shlex.join(['a b', 'c']) == \"'a b' c\" and list(shlex.shlex('x=1')) == ['x', '=', '1']\n"
    ),
    "textwrap": (
        "assert textwrap.wrap('aa bb cc', 5) == ['aa bb', 'cc'] "
        "and textwrap.dedent('  a\\n  b') == 'a\\nb' and textwrap.indent('a\\nb', '> ') == '> a\\n> b'\n"
        "assert textwrap.shorten('hello wide world', 12) == 'hello [...]' "
        "and textwrap.fill('aa bb', 3) == 'aa\\nbb' and textwrap.wrap('abcdef', 3) == ['abc', 'def']"
    ),
    "threading": (
        "l = threading.local(); l.x = 1; assert l.x == 1\n"
        "with threading.RLock(): pass\n"
        "e = threading.Event(); e.set(); assert e.wait(0)\n"
        "k = threading.Lock(); "
        "assert k.acquire() and not k.acquire(blocking=False) and not k.acquire(timeout=0.01); k.release(); "
        "assert not k.locked()\n"
        "s = threading.Semaphore(1); assert s.acquire() and not s.acquire(blocking=False)\n"
        "d = threading.Condition()\n"
        "with d: assert not d.wait(0.01)\n"
        "assert threading.current_thread() is threading.main_thread() and threading.active_count() == 1"
    ),
    "time": (
        "a = time.monotonic(); time.sleep(0.001); "
        "assert time.monotonic() > a and time.time() > 1.6e9 and time.gmtime(0).tm_year == 1970\n"
        "assert time.strftime('%Y-%m-%d', time.gmtime(86400)) == '1970-01-02' "
        "and time.strptime('05 Mar 2024', '%d %b %Y').tm_yday == 65\n"
        "assert time.time_ns() > 1.6e18 and time.perf_counter_ns() > 0 and time.process_time() >= 0"
    ),
    "traceback": (
        "try: 1 / 0\n"
        "except ZeroDivisionError as x: s = traceback.format_exc(); p = traceback.format_exception_only(x)\n"
        "assert 'ZeroDivisionError: division by zero' in s and 'main' in s "
        "and p == ['ZeroDivisionError: division by zero\\n']\n"
        "try:\n"
        "  try: {}['k']\n"
        "  except KeyError as k: raise ValueError('v') from k\n"
        "except ValueError as x: s = ''.join(traceback.format_exception(x))\n"
        "assert 'direct cause' in s and s.index('KeyError') < s.index('ValueError: v')"
    ),
    "types": (
        "assert isinstance(lambda: 0, types.FunctionType) and types.SimpleNamespace(a=1).a == 1 "
        "and types.MappingProxyType({1: 2})[1] == 2\n"
        "C = types.new_class('C', (), {}, lambda ns: ns.update(x=3)); "
        "assert C.x == 3 and types.MethodType(lambda s: s.x, C())() == 3\n"
        "m = types.ModuleType('m', 'doc'); "
        "assert m.__doc__ == 'doc' and isinstance(int | None, types.UnionType) "
        "and types.CapsuleType.__name__ == 'PyCapsule' and types.GenericAlias(list, (int,)) == list[int]\n"
        "class D:\n"
        "  @types.DynamicClassAttribute\n"
        "  def v(self): return 5\n"
        "assert D().v == 5 and isinstance((x for x in ()), types.GeneratorType)"
    ),
    "typing": (
        "T = typing.TypeVar('T')\nclass B(typing.Generic[T]): pass\nassert B[int].__origin__ is B\n"
        "class N(typing.NamedTuple):\n  x: int\n  y: 'str' = 'd'\nassert N(1) == (1, 'd')\n"
        "class D(typing.TypedDict, total=False):\n  k: int\nassert D(k=1) == {'k': 1}\n"
        "def f(x: 'int', y: typing.Optional['str'] = None) -> typing.List['int']: ...\n"
        "assert typing.get_type_hints(f, globals())['x'] is int\n"
        "class P(typing.Protocol):\n  def m(self): ...\n"
        "assert typing.cast(int, 'x') == 'x' and typing.get_args(typing.Dict[str, int]) == (str, int)\n"
        "@typing.runtime_checkable\nclass Closes(typing.Protocol):\n  size: int\n  def close(self): ...\n"
        "class Has:\n  size = 3\n  def close(self): pass\nclass Later:\n"
        "  def __init__(self): self.size, self.close = 1, print\n"
        "class Not:\n  size = 3\n"
        "assert isinstance(Has(), Closes) and isinstance(Later(), Closes) and not isinstance(Not(), Closes)\n"
        "class Slow:\n  size = 1\n  @property\n  def close(self): raise AssertionError\n"
        "assert isinstance(Slow(), Closes)\n"
        "assert typing.get_origin(typing.Annotated[int, 3]) is typing.Annotated "
        "and typing.Literal['a', 'b'].__args__ == ('a', 'b')\n"
        "@typing.overload\ndef g(x: int) -> int: ...\ndef g(x): return x\n"
        "assert typing.get_overloads(g) and g(1) == 1"
    ),
    "urllib.parse": (
        "p = urllib.parse.urlsplit('https://u:p@h.example:81/a/b?x=1&y=%C3%BC#f')\n"
        "assert (p.scheme, p.hostname, p.port) == ('https', 'h.example', 81)\n"
        "assert (p.path, p.fragment) == ('/a/b', 'f')\n"
        "assert urllib.parse.parse_qs(p.query) == {'x': ['1'], 'y': ['\xfc']}\n"
        "fields = {'a b': '\xfc/', 'c': [1, 2]}\n"
        "assert urllib.parse.urlencode(fields, doseq=True) == 'a+b=%C3%BC%2F&c=1&c=2'\n"
        "assert urllib.parse.quote('/a b') == '/a%20b' and urllib.parse.unquote('%41') == 'A'\n"
        "assert urllib.parse.urljoin('http://h/a/b', '../c') == 'http://h/c'\n"
        "assert urllib.parse.urlsplit('http://[::ffff:1.2.3.4]:8/').hostname == '::ffff:1.2.3.4'\n"
        "for bad in ('http://[1.2.3.4]/', 'http://[::1', 'http://[1:2]/', 'http://[1::2::3]/', 'http://[g::]/',\n"
        "            'http://a\\uff0fb/', 'http://[::1.2.3.256]/', 'http://[1:2:3:4:5:6:7:8:9]/'):\n"
        "  try: urllib.parse.urlsplit(bad)\n"
        "  except ValueError: pass\n"
        "  else: assert 0, bad\n"
        "for good in ('[::]', '[1:2:3:4:5:6:7:8]', '[fe80::1%eth0]', '[v1.x]', '[1::8]'):\n"
        "  urllib.parse.urlsplit('http://' + good + '/')"
    ),
    "logging": (
        "import io\n"
        "out = io.StringIO(); log = logging.getLogger('a.b'); log.propagate = False\n"
        "h = logging.StreamHandler(out); log.addHandler(h); log.setLevel(logging.INFO)\n"
        "form = '%(levelname)s %(name)s %(filename)s:%(lineno)d %(funcName)s %(message)s'\n"
        "h.setFormatter(logging.Formatter(form))\n"
        "log.debug('no'); log.warning('x=%d', 3)\n"
        "assert out.getvalue() == 'WARNING a.b main.py:9 f x=3\\n', out.getvalue()\n"
        "try: 1 / 0\n"
        "except ZeroDivisionError: log.exception('bad')\n"
        "assert 'Traceback' in out.getvalue() and 'ZeroDivisionError' in out.getvalue()\n"
        "assert logging.getLogger('a') is log.parent and log.isEnabledFor(logging.ERROR)\n"
        "assert logging.makeLogRecord({'msg': '%s', 'args': ('y',)}).getMessage() == 'y'\n"
        "log.warning('here', stack_info=True); assert 'Stack (most recent' in out.getvalue()\n"
        "try: logging.basicConfig(filename='x')\n"
        "except ValueError as e: assert 'no files' in str(e)\n"
        "else: assert 0"
    ),
    "uuid": (
        "a = uuid.uuid4(); assert a.version == 4 and a != uuid.uuid4() and uuid.UUID(str(a)) == a\n"
        "assert str(uuid.uuid3(uuid.NAMESPACE_DNS, 'python.org')) == '6fa459ea-ee8a-3ca4-894e-db77e160355e'\n"
        "assert str(uuid.uuid5(uuid.NAMESPACE_DNS, 'python.org')) == '886313e1-3b8a-5372-9b90-0c9aee199e5d'\n"
        "assert uuid.uuid1().node == uuid.uuid1().node == uuid.getnode() and uuid.getnode() >> 40 & 1"
    ),
    "warnings": (
        "with warnings.catch_warnings(record=True) as w:\n"
        "  warnings.simplefilter('always'); warnings.warn('old', DeprecationWarning)\n"
        "assert len(w) == 1 and str(w[0].message) == 'old' and w[0].category is DeprecationWarning\n"
        "with warnings.catch_warnings():\n"
        "  warnings.simplefilter('error')\n"
        "  try: warnings.warn('x')\n"
        "  except UserWarning: pass\n"
        "  else: assert 0\n"
        "with warnings.catch_warnings(record=True) as w:\n"
        "  warnings.filterwarnings('ignore', message='qu'); warnings.warn('quiet')\n"
        "assert not w\n"
        "@warnings.deprecated('gone')\n"
        "def old_f(): return 1\n"
        "with warnings.catch_warnings(record=True) as w:\n"
        "  warnings.simplefilter('always'); assert old_f() == 1\n"
        "assert 'gone' in str(w[0].message)"
    ),
    "weakref": (
        "class C: pass\n"
        "c = C(); r = weakref.ref(c); assert r() is c; del c; assert r() is None\n"
        "assert len(weakref.WeakValueDictionary()) == 0\n"
        "k = C(); d = weakref.WeakKeyDictionary({k: 1}); s = weakref.WeakSet([k]); p = weakref.proxy(k); "
        "p.x = 2; assert k.x == 2 and d[k] == 1 and len(s) == 1\n"
        "seen = []; f = weakref.finalize(k, seen.append, 'gone'); assert f.alive; del k; "
        "assert seen == ['gone'] and len(d) == 0 and len(s) == 0 and not f.alive\n"
        "class M:\n"
        "  def m(self): return 3\n"
        "m = M(); w = weakref.WeakMethod(m.m); assert w()() == 3"
    ),
}
ABSENT = [
    "socket", "subprocess", "ctypes", "asyncio", "multiprocessing", "signal", "pickle", "importlib",
    "inspect", "ast", "sqlite3", "ssl", "tempfile", "pathlib", "shutil", "urllib.request", "http", "zipfile",
    "_io",
    "posix", "numpy", "decimal", "unicodedata", "difflib",
]  # fmt: skip


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


def test_the_reference_page_lists_every_module(device: VM) -> None:
    page = (Path(__file__).resolve().parents[3] / "docs" / "reference" / "task-python.md").read_text(
        encoding="utf-8"
    )
    words = set(re.findall(r"[\w.]+", page))
    packages = ("json.", "re.", "walle.")  # parts of these packages are their own business
    listed = {name for name in device.library if not name.startswith(packages)} | set(CHECKS)
    assert {name for name in listed if name not in words and name + "." not in words} == {"encodings"}


@pytest.mark.parametrize("name", ABSENT)
def test_absent(isolate: Isolate, name: str) -> None:
    isolate.run(
        f"try:\n    import {name}\nexcept ModuleNotFoundError:\n    pass\nelse:\n    raise AssertionError\n"
    )


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("numpy", "walle.Tensor computes"),
        ("numpy.linalg", "walle.Tensor computes"),
        ("torch", "walle.engine runs the models"),
        ("requests", "nothing but host calls"),
        ("pathlib", "walle.kv keeps state"),
        ("asyncio", "one call on one thread"),
        ("argparse", "no command line"),
        ("html", "str.replace"),
        ("zlib", "base64"),
        ("tomllib", "json and csv"),
        ("nonsense", ""),
    ],
)
def test_an_absent_module_says_what_there_is_instead(task: Any, name: str, hint: str) -> None:
    """Also under an allow-list, which the look-up of the hint itself must not meet."""
    source = f"def f():\n    try:\n        import {name}\n    except ModuleNotFoundError as e:\n"
    source += "        return [str(e), e.name]\n"
    for limits in ({}, {"imports": [name.partition(".")[0]]}):
        text, missing = task(source, **limits).call("f")
        assert text.startswith(f"no module named '{missing}' in this VM") and hint in text
        assert missing == name.partition(".")[0] and (hint != "") == (": " in text)


# What is asked for like files: the error's text has what there is instead.
FILES = {
    "open('a')": "NameError: name 'open' is not defined in this VM: there are no files; walle.kv",
    "__import__('os').path": "AttributeError: module 'os' has no attribute 'path' in this VM: there are no",
    "__import__('os').listdir('.')": "AttributeError: module 'os' has no attribute 'listdir' in this VM",
    "__import__('os.path')": "ModuleNotFoundError: no module named 'os.path'; 'os' is not a package: there",
}


@pytest.mark.parametrize("expression", FILES)
def test_files_are_not_there_and_the_error_says_what_is(task: Any, expression: str) -> None:
    with pytest.raises(TaskFailed, match=re.escape(FILES[expression])):
        task(f"def f(): return {expression}").call("f")


def test_a_date_without_a_year_is_parsed(task: Any) -> None:
    """It warns of that, and what it leaves out of the traceback is named without files."""
    source = "import datetime, time\ndef f():\n    return time.strptime('24 Dec', '%d %b').tm_mday, \\\n"
    source += "        datetime.datetime.strptime('24 Dec', '%d %b').month\n"
    assert task(source).call("f") == [24, 12]


def test_modules_of_a_task_know_their_file(vm: VM, device: VM) -> None:
    modules = {
        "main": "import part\ndef f():\n    return [__file__, part.__file__]\n",
        "part": "x = __file__\n",
    }
    data = TaskBundle.from_source(modules, vm).data
    for flavour in (vm, device):
        with Isolate(flavour) as isolate:
            isolate.load(TaskBundle(data, flavour))
            assert isolate.call("f") == ["main.py", "part.py"]
    with Isolate(vm) as isolate:
        isolate.run("here = __file__\ndef f():\n    return here\n", file="cell 1")
        assert isolate.call("f") == "cell 1"


def test_logging_reaches_the_host_with_its_level(task: Any) -> None:
    lines: list[tuple[int, str]] = []
    source = (
        "import logging\ndef f():\n    logging.warning('by default')\n"
        "    logging.basicConfig(level=logging.DEBUG, format='%(message)s', force=True)\n"
        "    logging.debug('d'); logging.info('i'); logging.error('two\\nlines'); logging.critical('c')\n"
        "    logging.error('%d', 'x')\n"
    )
    task(source, log=lambda level, line: lines.append((level, line))).call("f")
    assert lines[0] == (2, "WARNING:root:by default")
    assert lines[1:6] == [(0, "d"), (1, "i"), (3, "two"), (3, "lines"), (3, "c")]
    assert any("Logging error" in line for _, line in lines)


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


DATACLASSES = """
from dataclasses import KW_ONLY, InitVar, dataclass, field, replace

@dataclass
class Plain:
    x: int
    y: float = 0.5

@dataclass
class Child(Plain):
    tags: list = field(default_factory=list)
    _: KW_ONLY
    self: str = 'me'

@dataclass(frozen=True, slots=True, order=True)
class Frozen:
    a: int
    b: list = field(default_factory=list, compare=False)

@dataclass
class Checked:
    a: int
    seed: InitVar[int] = 3
    total: int = field(init=False)
    def __post_init__(self, seed): self.total = self.a + seed

@dataclass
class Posted:
    a: int
    def __post_init__(self): self.a += 1

Wide = dataclass(type('Wide', (), {'__annotations__': {f'f{i}': int for i in range(14)}}))

def outcome(make):
    try:
        return repr(make())
    except (TypeError, AttributeError) as error:
        return str(error)

def main():
    return [outcome(make) for make in (
        lambda: Plain(1), lambda: Plain(1, 2.0), lambda: Plain(y=3, x=1), lambda: Plain(),
        lambda: Plain(1, 2, 3),
        lambda: Plain(1, z=3), lambda: Plain(1, x=2), lambda: Child(1), lambda: Child(1, 2, [3], self='you'),
        lambda: Child(1, 2, [3], 'you'), lambda: Child(1).tags is Child(1).tags, lambda: Frozen(1),
        lambda: setattr(Frozen(1), 'a', 2), lambda: Frozen(1) < Frozen(2, [1]), lambda: hash(Plain(1)),
        lambda: Checked(1).total, lambda: Checked(1, seed=5).total, lambda: Posted(1),
        lambda: replace(Plain(1), y=9),
        lambda: Wide(*range(14)), lambda: Wide(*range(13)), lambda: Plain.__init__.__qualname__,
        lambda: Plain.__init__.__defaults__, lambda: Child.__init__.__kwdefaults__,
        lambda: Plain.__init__.__annotations__)]
"""


def test_dataclasses_are_made_as_by_the_host(vm: VM, device: VM) -> None:
    scope: dict[str, Any] = {"__name__": __name__}
    exec(compile(DATACLASSES, "main.py", "exec", dont_inherit=True), scope)  # without this file's annotations
    theirs = scope["main"]()
    data = TaskBundle.from_source({"main": DATACLASSES}, vm).data
    for flavour in (vm, device):
        with Isolate(flavour) as isolate:
            isolate.load(TaskBundle(data, flavour))
            ours = isolate.call("main")
        assert ours[:20] == theirs[:20] and ours[21:] == theirs[21:]
        assert "f13" in ours[20]


def test_a_pool_has_imported_what_its_profile_names(vm: VM) -> None:
    source = "import sys\ndef main():\n    return [name in sys.modules for name in ('csv', 'json')]\n"
    bundle = TaskBundle.from_source({"main": source}, vm)
    for profile, expected in ((["csv"], [True, False]), ("std", [False, True]), ("bare", [False, False])):
        assert fresh_call(Pool(vm, size=1, profile=profile), bundle, "main") == expected
    with pytest.raises(ArgumentError, match="import 'nonsense': no module named"):
        Pool(vm, size=1, profile=["nonsense"])
    with pytest.raises(ArgumentError, match="profile 'all'"):
        Pool(vm, profile="all")


def test_an_isolate_says_its_flavour(vm: VM, device: VM) -> None:
    assert repr(Isolate(vm)) == "<Isolate full>"
    isolate = Isolate(device)
    isolate.close()
    assert repr(isolate) == "<Isolate device, closed>"
