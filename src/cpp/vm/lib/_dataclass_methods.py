# The methods that @dataclass adds, as closures: the standard library writes them as text and compiles it,
# which a device cannot. tools/vm/library.py places this text into dataclasses.py in place of its text
# builders.
class _FuncBuilder:
    def __init__(self, globals):
        self.methods = []

    def add(self, name, function, *, overwrite_error=False, unconditional=False):
        function.__name__ = name
        self.methods.append((function, overwrite_error, unconditional))

    def add_fns_to_class(self, cls):
        for function, overwrite_error, unconditional in self.methods:
            name = function.__name__
            function.__qualname__ = f"{cls.__qualname__}.{name}"
            function.__module__ = cls.__module__
            if unconditional:
                setattr(cls, name, function)
            elif _set_new_attribute(cls, name, function) and overwrite_error:
                message = f"Cannot overwrite attribute {name} in class {cls.__name__}"
                raise TypeError(message if overwrite_error is True else f"{message} {overwrite_error}")


def _init_plan(fields, slots):
    # (name, kind, value): kind 0 take the argument, 1 call the factory unless given, 2 always call it,
    # 3 fixed value.
    plan = []
    for f in fields:
        if f._field_type is _FIELD_INITVAR:
            continue
        if f.default_factory is not MISSING:
            plan.append((f.name, 1 if f.init else 2, f.default_factory))
        elif f.init:
            plan.append((f.name, 0, None))
        elif slots and f.default is not MISSING:
            plan.append((f.name, 3, f.default))
    return plan


def _init_default(f):
    return f.default if f.default is not MISSING else _HAS_DEFAULT_FACTORY


def _templated_init(fields, std_fields, kw_only_fields, frozen, has_post_init, self_name, plan):
    # The function of a template (tools/vm/library_edits.py), or None: no template has so many fields, takes
    # an InitVar, or sets what it is not given.
    names = [f.name for f in (*std_fields, *kw_only_fields)]
    template = globals().get(f"_{'frozen' if frozen else 'made'}_{len(names)}")
    init_var = any(f._field_type is _FIELD_INITVAR for f in fields)
    if template is None or init_var or [name for name, kind, _ in plan if kind <= 1] != names \
            or len(plan) != len(names):
        return None
    if not frozen and not has_post_init and all(kind == 0 for _, kind, _ in plan):
        template = globals()[f"_plain_{len(names)}"]
    new = {'self': self_name}
    for i, name in enumerate(names):
        new[f'a{i}'] = new[f'f{i}'] = name
    code = template.__code__
    code = code.replace(
        co_varnames=tuple([new[name] for name in code.co_varnames]),
        co_names=tuple([new.get(name, name) for name in code.co_names]),
        co_consts=tuple([new.get(c, c) if type(c) is str else c for c in code.co_consts]),
        co_argcount=1 + len(std_fields), co_kwonlyargcount=len(kw_only_fields))
    scope = {'absent': _HAS_DEFAULT_FACTORY, 'put': object.__setattr__, 'post': has_post_init}
    scope |= {f'make{i}': value for i, (_, _, value) in enumerate(plan)}
    function = type(template)(code, scope)
    given = [f for f in std_fields if not (f.default is MISSING and f.default_factory is MISSING)]
    function.__defaults__ = tuple([_init_default(f) for f in given]) or None
    function.__kwdefaults__ = {f.name: _init_default(f) for f in kw_only_fields
                               if not (f.default is MISSING and f.default_factory is MISSING)} or None
    return function


def _init_fn(fields, std_fields, kw_only_fields, frozen, has_post_init, self_name, func_builder, slots):
    seen_default = None
    for f in std_fields:
        if not (f.default is MISSING and f.default_factory is MISSING):
            seen_default = f
        elif seen_default:
            raise TypeError(f"non-default argument {f.name!r} follows default argument {seen_default.name!r}")
    positional = tuple(f.name for f in std_fields)
    accepted = frozenset(f.name for f in fields if f.init)
    defaults = {
        f.name: _init_default(f)
        for f in fields
        if f.init and not (f.default is MISSING and f.default_factory is MISSING)
    }
    required = tuple(f.name for f in (*std_fields, *kw_only_fields) if f.name not in defaults)
    post = tuple(f.name for f in fields if f._field_type is _FIELD_INITVAR) if has_post_init else None
    plan = _init_plan(fields, slots)
    assign = object.__setattr__ if frozen else setattr
    count = len(positional)

    def bind(args, kwargs):
        if len(args) > count:
            given = len(args) + 1
            raise TypeError(f"__init__() takes {count + 1} positional arguments but {given} were given")
        values = dict(zip(positional, args))
        for name, value in kwargs.items():
            if name not in accepted:
                raise TypeError(f"__init__() got an unexpected keyword argument {name!r}")
            if name in values:
                raise TypeError(f"__init__() got multiple values for argument {name!r}")
            values[name] = value
        missing = [name for name in required if name not in values]
        if missing:
            raise TypeError(
                f"__init__() missing {len(missing)} required argument"
                f"{'s' if len(missing) > 1 else ''}: {', '.join(map(repr, missing))}"
            )
        return {**defaults, **values}

    def __init__(self, /, *args, **kwargs):
        values = bind(args, kwargs)
        for name, kind, extra in plan:
            if kind == 0:
                value = values[name]
            elif kind == 3:
                value = extra
            else:
                value = values[name] if kind == 1 else _HAS_DEFAULT_FACTORY
                if value is _HAS_DEFAULT_FACTORY:
                    value = extra()
            assign(self, name, value)
        if post is not None:
            self.__post_init__(*[values[name] for name in post])

    if made := _templated_init(fields, std_fields, kw_only_fields, frozen, has_post_init, self_name, plan):
        __init__ = made
    __init__.__annotations__ = {**{f.name: f.type for f in (*std_fields, *kw_only_fields)}, "return": None}
    func_builder.add("__init__", __init__)


def _frozen_get_del_attr(cls, fields, func_builder):
    names = frozenset(f.name for f in fields)

    def __setattr__(self, name, value):
        if type(self) is cls or name in names:
            raise FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)

    def __delattr__(self, name):
        if type(self) is cls or name in names:
            raise FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)

    func_builder.add("__setattr__", __setattr__, overwrite_error=True)
    func_builder.add("__delattr__", __delattr__, overwrite_error=True)


def _repr_fn(fields):
    names = tuple(f.name for f in fields if f.repr)

    def __repr__(self):
        shown = ", ".join([f"{n}={getattr(self, n)!r}" for n in names])
        return self.__class__.__qualname__ + "(" + shown + ")"

    return recursive_repr()(__repr__)


def _eq_fn(fields):
    names = tuple(f.name for f in fields if f.compare)

    def __eq__(self, other):
        if self is other:
            return True
        if other.__class__ is self.__class__:
            return all(getattr(self, n) == getattr(other, n) for n in names)
        return NotImplemented

    return __eq__


def _order_fn(fields, compare):
    names = tuple(f.name for f in fields if f.compare)

    def method(self, other):
        if other.__class__ is self.__class__:
            return compare(
                tuple([getattr(self, n) for n in names]), tuple([getattr(other, n) for n in names])
            )
        return NotImplemented

    return method


def _hash_add(cls, fields, func_builder):
    names = tuple(f.name for f in fields if (f.compare if f.hash is None else f.hash))

    def __hash__(self):
        return hash(tuple([getattr(self, n) for n in names]))

    func_builder.add("__hash__", __hash__, unconditional=True)
