"""The importer of an isolate: built-in modules, the library, the task's bundles and host calls; nothing else.

CPython's import.c calls the functions below by name on the module it keeps as "_frozen_importlib". `_walle`
(C) is placed into this module's globals before it runs.
"""

_BUILTIN, _MODULE, _PACKAGE, _HOST = 1, 2, 3, 4
_modules = None


class ModuleSpec:
    __slots__ = (
        "name",
        "loader",
        "origin",
        "submodule_search_locations",
        "_initializing",
        "cached",
        "loader_state",
        "has_location",
        "_set_fileattr",
        "_uninitialized_submodules",
    )

    def __init__(self, name, origin, package=False):
        self.name = name
        self.origin = origin
        self.loader = self.cached = self.loader_state = None
        self.submodule_search_locations = [] if package else None
        self._initializing = self.has_location = self._set_fileattr = False
        self._uninitialized_submodules = []

    @property
    def parent(self):
        if self.submodule_search_locations is not None:
            return self.name
        return self.name.rpartition(".")[0]


def _module_repr(module):
    return "<module %r>" % (getattr(module, "__name__", "?"),)


def _call_with_frames_removed(function, *args, **kwargs):
    return function(*args, **kwargs)


def _lock_unlock_module(name):
    pass


def _fix_up_module(namespace, name, path, cached=None):
    pass


def _make(kind, spec):
    if kind == _BUILTIN:
        return _walle.builtin(spec)
    if kind == _HOST:
        return _walle.host(spec.name)
    module = type(_sys)(spec.name)
    if kind == _PACKAGE:
        module.__path__ = []
    module.__package__ = spec.parent
    return module


def _run(kind, module, name):
    if kind in (_MODULE, _PACKAGE):
        code = _walle.code(name)
        if code.co_filename[:1] != '<':  # a task's own
            module.__file__ = code.co_filename
        exec(code, module.__dict__)


def _hint(name):
    hints = _modules.get('_instead') or _load('_instead', '')
    hint = hints.of(name)
    return ': ' + hint if hint else ''


def _missing(name):
    return ModuleNotFoundError('no module named %r in this VM%s' % (name, _hint(name)), name=name)


def _open(*arguments, **names):
    raise NameError("name 'open' is not defined in this VM" + _hint('open'), name='open')


def _load(name, parent):
    kind = _walle.find(name)
    if not kind:
        raise _missing(name)
    spec = ModuleSpec(name, "walle", kind == _PACKAGE)
    spec._initializing = True
    module = _make(kind, spec)
    module.__spec__ = spec
    _modules[name] = module
    try:
        _run(kind, module, name)
    except BaseException:
        _modules.pop(name, None)
        raise
    spec._initializing = False
    module = _modules[name]
    if parent:
        setattr(_modules[parent], name.rpartition(".")[2], module)
    return module


def _find_and_load(name, import_):
    if type(name) is not str:
        raise TypeError('the name of a module is a str')  # and nothing that compares equal to others
    _walle.check(name)
    module = _modules.get(name, _modules)
    if module is None:
        raise ModuleNotFoundError("import of %s halted" % name, name=name)
    if module is not _modules:
        return module
    parent = name.rpartition(".")[0]
    if parent:
        if parent not in _modules:
            import_(parent)
        if name in _modules:
            return _modules[name]
        if not hasattr(_modules[parent], "__path__"):
            text = "no module named %r; %r is not a package%s" % (name, parent, _hint(name))
            raise ModuleNotFoundError(text, name=name)
    return _load(name, parent)


def _gcd_import(name, package=None, level=0):
    return _find_and_load(name, _gcd_import)


def _handle_fromlist(module, fromlist, import_, *, recursive=False):
    for name in fromlist:
        if name == "*":
            if not recursive and hasattr(module, "__all__"):
                _handle_fromlist(module, module.__all__, import_, recursive=True)
        elif not hasattr(module, name):
            full = module.__name__ + "." + name
            if _walle.find(full):
                import_(full)
    return module


class _Stream:
    """sys.stdout and sys.stderr of a task: whole lines go to the host's log."""

    encoding = "utf-8"
    errors = "backslashreplace"
    closed = False

    def __init__(self, level):
        self._level = level
        self._rest = ""

    def write(self, text):
        lines = (self._rest + text).split("\n")
        self._rest = lines.pop()
        for line in lines:
            _walle.log(self._level, line)
        return len(text)

    def flush(self):
        if self._rest:
            _walle.log(self._level, self._rest)
            self._rest = ""

    def isatty(self):
        return False

    def writable(self):
        return True


def _install(modules):
    global _modules, _sys
    _modules = modules
    _sys = modules['sys']
    modules['_walle'] = _walle
    _sys.stdout = _sys.__stdout__ = _Stream(1)
    _sys.stderr = _sys.__stderr__ = _Stream(3)
    _sys.stdin = _sys.__stdin__ = None
    _sys.path = []
    _sys.meta_path = []
    _sys.path_hooks = []
    _sys.argv = ["walle"]
    builtins = _sys.modules["builtins"].__dict__
    for name in ("exit", "quit", "input", "breakpoint"):
        builtins.pop(name, None)
    # As if it were not there, and with a word on what is.
    builtins["open"] = _open


def _install_external_importers():
    pass
