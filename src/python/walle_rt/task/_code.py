"""A task's Python files against its task.toml: functions that exist, imports and host calls that are
declared.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator
from dataclasses import replace

from ..vm.sources import Sources
from ._mistakes import Mistake, nearest, one_of
from ._read import Reader
from ._spec import TaskSpec

# Host calls that a table of task.toml lends.
_DECLARED = {"walle.app", "walle.params", "walle.features"}
# Written as an import, but none.
_NOT_IMPORTED = {"__future__", "walle"}
_ARGUMENTS = {"main": "event", "preprocess": "event", "execute": "inputs", "postprocess": "outputs, event"}
_PHASES = tuple(_ARGUMENTS)
# What a device has instead of modules that tasks are often written with.
_INSTEAD = {
    "numpy": "walle.Tensor computes on a device: docs/reference/task-python.md",
    "pandas": "walle.stream.run makes columns of events with a graph, and walle.Tensor computes with them",
    "torch": "convert the model with walle convert, and load it with walle.engine.load",
    "onnxruntime": "convert the model with walle convert, and load it with walle.engine.load",
    "requests": "a task reaches no network; walle.stream.send leaves through the egress gate",
    "sqlite3": "walle.results keeps rows, and walle.kv small state",
}


def check_code(
    reader: Reader, spec: TaskSpec, device: Sources, cloud: Sources, library: list[str], calls: list[str]
) -> TaskSpec:
    """Add what is wrong to the reader's mistakes; returns the task with what its code says of it.

    Args:
        reader: of its task.toml.
        spec: the task.
        device: its files.
        cloud: those that the server alone gets.
        library: modules of the VM; none if it is not there.
        calls: host calls that there are.
    """
    sources = Sources({**device.modules, **cloud.modules})
    trees = dict(_parsed(reader, sources))
    spec = _check_functions(reader, spec, device, trees)
    _check_asked(reader, spec, sources, trees)
    _check_cloud(reader, spec, cloud, trees)
    own = {name.partition(".")[0] for name in device.modules}
    used: set[str] = set()
    for name, tree in trees.items():
        file = sources.modules[name][0]
        # A device has nothing of the cloud's module to import.
        here = own | {name.partition(".")[0]} if name in cloud.modules else own
        _check_imports(reader, spec, file, tree, here, library)
        if name not in cloud.modules:
            _check_fields(reader, spec, file, tree)
        used |= _check_calls(reader, spec, file, tree, calls)
        _check_params(reader, spec, file, tree)
        _check_app(reader, spec, file, tree)
        _check_features(reader, spec, file, tree)
    _check_capabilities(reader, spec, library, calls, used if len(trees) == len(sources.modules) else None)
    return spec


def _parsed(reader: Reader, sources: Sources) -> Iterator[tuple[str, ast.Module]]:
    for name, (file, text, _) in sources.modules.items():
        try:
            # What the host's Python would warn of on stderr, the VM's compiler says as a finding.
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = ast.parse(text, file)
            yield name, tree
        except (SyntaxError, ValueError, RecursionError) as error:
            line = getattr(error, "lineno", None) or 1
            what = getattr(error, "msg", None) or str(error)
            reader.mistakes.append(
                Mistake(file, line, f"a syntax error: {what}", "Python 3.13", "correct the line")
            )


def _check_functions(
    reader: Reader, spec: TaskSpec, sources: Sources, trees: dict[str, ast.Module]
) -> TaskSpec:
    if spec.module not in sources.modules:
        modules = sorted(sources.modules)
        expected = "one of " + ", ".join(modules) if modules else "a .py file"
        where = ("entry", "module")
        reader.wrong(
            where, f"no module '{spec.module}'", expected, one_of(spec.module, modules, "add the file")
        )
        return spec
    if spec.module not in trees:
        return spec
    file, body = sources.modules[spec.module][0], trees[spec.module].body
    functions = {n.name: n for n in body if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)}
    other = {name for node in body for name in _bound(node)}
    names = (spec.main, spec.preprocess, spec.execute_function, spec.postprocess)
    for phase, name in zip(_PHASES, names, strict=True):
        if not name or (name in other and name not in functions):
            continue
        if name not in functions:
            expected = "one of " + ", ".join(functions) if functions else "a function"
            hint = one_of(name, functions, f"write def {name}(...) in {file}")
            reader.wrong(
                ("entry", phase), f"{phase} = '{name}', which {file} does not define", expected, hint
            )
            continue
        # Only what stands in its def is known before it runs: a name bound otherwise gets the outputs alone.
        both = phase == "postprocess" and _positional(functions[name]) >= 2
        if (why := _uncallable(functions[name], 2 if both else 1)) is not None:
            expected = "a function of one argument" + (
                ", or of outputs and event" if phase == "postprocess" else ""
            )
            next_step = f"write def {name}({_ARGUMENTS[phase]}):"
            line = functions[name].lineno
            reader.mistakes.append(Mistake(file, line, f"{name}() {why}", expected, next_step))
        elif both:
            spec = replace(spec, postprocess_event=True)
    return spec


def _positional(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return len(function.args.posonlyargs) + len(function.args.args)


def _check_asked(reader: Reader, spec: TaskSpec, sources: Sources, trees: dict[str, ast.Module]) -> None:
    """Functions of [call] are there and take as many arguments as it says."""
    if spec.module not in trees:
        return
    file, body = sources.modules[spec.module][0], trees[spec.module].body
    functions = {n.name: n for n in body if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)}
    other = {name for node in body for name in _bound(node)}
    for name, call in spec.calls.items():
        if name in functions:
            if (why := _uncallable(functions[name], len(call.arguments))) is not None:
                expected = f"a function of {len(call.arguments)} arguments, as [call.{name}] says"
                step = f"change one of both: def {name}(...), or arguments = [...]"
                reader.mistakes.append(
                    Mistake(file, functions[name].lineno, f"{name}() {why}", expected, step)
                )
        elif name not in other:
            expected = "one of " + ", ".join(functions) if functions else "a function"
            hint = one_of(name, functions, f"write def {name}(...) in {file}")
            reader.wrong(("call", name), f"[call.{name}], which {file} does not define", expected, hint)


def _check_cloud(reader: Reader, spec: TaskSpec, cloud: Sources, trees: dict[str, ast.Module]) -> None:
    half = spec.cloud
    if half is None:
        return
    if half.module not in cloud.modules:
        hint = f"add the file {half.module.replace('.', '/')}.py"
        reader.wrong(("cloud", "module"), f"no module '{half.module}'", "the server's half of the task", hint)
        return
    if half.module not in trees:
        return
    file, body = cloud.modules[half.module][0], trees[half.module].body
    functions = {n.name: n for n in body if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)}
    if half.function not in functions:
        if any(half.function == name for node in body for name in _bound(node)):
            return
        expected = "one of " + ", ".join(functions) if functions else "a function"
        hint = one_of(half.function, functions, f"write def {half.function}(question): in {file}")
        given = f"function = '{half.function}', which {file} does not define"
        reader.wrong(("cloud", "function"), given, expected, hint)
    elif (why := _uncallable(functions[half.function])) is not None:
        line = functions[half.function].lineno
        step = f"write def {half.function}(question):"
        reader.mistakes.append(
            Mistake(file, line, f"{half.function}() {why}", "a function of one argument", step)
        )


def _bound(node: ast.stmt) -> Iterator[str]:
    """Names that a statement at a module's top binds without def."""
    if isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        yield from (t.id for target in targets for t in ast.walk(target) if isinstance(t, ast.Name))
    elif isinstance(node, ast.Import | ast.ImportFrom):
        yield from ((alias.asname or alias.name.partition(".")[0]) for alias in node.names)
    elif isinstance(node, ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.If | ast.Try):
        yield from (
            name
            for inner in ast.iter_child_nodes(node)
            if isinstance(inner, ast.stmt)
            for name in _bound(inner)
        )


def _uncallable(function: ast.FunctionDef | ast.AsyncFunctionDef, count: int = 1) -> str | None:
    """Why it cannot be called with so many arguments."""
    given = function.args
    positional = _positional(function)
    if isinstance(function, ast.AsyncFunctionDef):
        return "is async, and a task is one call"
    if function.decorator_list:
        return None
    if positional - len(given.defaults) > count or (positional < count and given.vararg is None):
        return f"takes {positional} arguments"
    if any(default is None for default in given.kw_defaults):
        return "asks for keyword arguments"
    return None


def _run_nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """All nodes but those that are there for type checkers alone."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING"):
            for other in node.orelse:
                yield from (other, *_run_nodes(other))
            continue
        yield node
        yield from _run_nodes(node)


def _check_imports(
    reader: Reader, spec: TaskSpec, file: str, tree: ast.Module, own: set[str], library: list[str]
) -> None:
    for node in _run_nodes(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names = [node.module or ""]
        else:
            continue
        for name in names:
            top = name.partition(".")[0]
            if top in own or top in spec.imports or top in _NOT_IMPORTED:
                continue
            if library and top not in {each.partition(".")[0] for each in library}:
                hint = _INSTEAD.get(top) or one_of(top, library, "walle task vm lists what there is")
                reader.mistakes.append(
                    Mistake(file, node.lineno, f"import of '{top}'", "a module of the VM", hint)
                )
                continue
            expected = "a module that capabilities.imports of task.toml names"
            reader.mistakes.append(
                Mistake(file, node.lineno, f"import of '{top}'", expected, f'add "{top}" there')
            )


def _check_fields(reader: Reader, spec: TaskSpec, file: str, tree: ast.Module) -> None:
    """Warn of event["fields"]["itme"]: no field of an event that task.toml declares, but nearly one."""
    known = sorted({field for event in spec.events.values() for field in event.fields})
    for node in ast.walk(tree):
        asked = _asked_field(node)
        near = nearest(asked, known) if asked and asked not in known else ""
        if near and isinstance(node, ast.expr):
            given, expected = f"field '{asked}' of no event in task.toml", "one of " + ", ".join(known)
            reader.mistakes.append(
                Mistake(file, node.lineno, given, expected, f"did you mean '{near}'?", error=False)
            )


def _asked_field(node: ast.AST) -> str:
    """X of something["fields"]["X"] or something["fields"].get("X"); "" of anything else."""
    if isinstance(node, ast.Subscript):
        of, key = node.value, node.slice
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
        of, key = node.func.value, node.args[0]
        if node.func.attr != "get":
            return ""
    else:
        return ""
    fields = (
        isinstance(of, ast.Subscript) and isinstance(of.slice, ast.Constant) and of.slice.value == "fields"
    )
    return key.value if fields and isinstance(key, ast.Constant) and isinstance(key.value, str) else ""


def _check_calls(reader: Reader, spec: TaskSpec, file: str, tree: ast.Module, calls: list[str]) -> set[str]:
    """Mistakes about host calls; returns the modules of walle that the file uses."""
    modules = {call.rpartition(".")[0] for call in calls}
    aliases = dict(_walle_names(tree, modules))
    used: set[str] = set()
    reported: set[str] = set()
    for node in ast.walk(tree):
        if not isinstance(node, ast.Attribute):
            continue
        name = _dotted(node, aliases)
        module = next((m for m in modules if name == m or name.startswith(m + ".")), "")
        if not module:
            continue
        used.add(module)
        if module in spec.host_calls or name == module or module in _DECLARED:
            continue
        declared = [call for call in spec.host_calls if call.startswith(module + ".")]
        # A module in bytecode may have names of its own; what it calls is then up to the device.
        missing = not declared or (name in calls and name not in declared)
        if missing and name not in reported:
            reported.add(name)
            expected = "a host call that capabilities.host_calls of task.toml names"
            reader.mistakes.append(
                Mistake(file, node.lineno, f"use of {name}", expected, f'add "{module}" there')
            )
    return used


def _check_params(reader: Reader, spec: TaskSpec, file: str, tree: ast.Module) -> None:
    """Parameters that are read and not declared, as far as their names are in the text."""
    aliases = dict(_walle_names(tree, {"walle.params"}))
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript):
            of, key = node.value, node.slice
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get":
            of, key = node.func.value, node.args[0] if node.args else node.func
        else:
            continue
        name = key.value if isinstance(key, ast.Constant) else None
        if not isinstance(name, str) or name in spec.params or _dotted(of, aliases) != "walle.params":
            continue
        expected = "one of " + ", ".join(spec.params) if spec.params else "a parameter that [params] declares"
        hint = one_of(name, spec.params, f"add [params.{name}] to task.toml")
        reader.mistakes.append(Mistake(file, node.lineno, f"parameter '{name}'", expected, hint))


def _check_app(reader: Reader, spec: TaskSpec, file: str, tree: ast.Module) -> None:
    """Calls of the application's functions that are not declared, or with another number of arguments."""
    aliases = dict(_walle_names(tree, {"walle.app"}))
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute | ast.Name):
            continue
        name = _dotted(node.func, aliases)
        if not name.startswith("walle.app."):
            continue
        name = name.removeprefix("walle.app.")
        if name not in spec.app:
            expected = "one of " + ", ".join(spec.app) if spec.app else "a function that [app] declares"
            hint = one_of(name, spec.app, f"add [app.{name}] to task.toml")
            reader.mistakes.append(Mistake(file, node.lineno, f"walle.app.{name}", expected, hint))
            continue
        count = len(spec.app[name].arguments)
        unsure = any(isinstance(argument, ast.Starred) for argument in node.args)
        if node.keywords or (len(node.args) != count and not unsure):
            given = f"walle.app.{name} with {len(node.args) + len(node.keywords)} arguments"
            expected = f"{count}, by position, as [app.{name}] says"
            reader.mistakes.append(Mistake(file, node.lineno, given, expected, "change one of both"))


def _check_features(reader: Reader, spec: TaskSpec, file: str, tree: ast.Module) -> None:
    """Features that are looked up and not declared, likewise."""
    aliases = dict(_walle_names(tree, {"walle.features"}))
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or _dotted(node.func, aliases) != "walle.features.get":
            continue
        given = [*node.args[:1], *(word.value for word in node.keywords if word.arg == "name")]
        name = given[0].value if given and isinstance(given[0], ast.Constant) else None
        if not isinstance(name, str) or name in spec.rolling:
            continue
        expected = "one of " + ", ".join(spec.rolling) if spec.rolling else "one that [features] declares"
        hint = one_of(name, spec.rolling, f"add [features.{name}] to task.toml")
        reader.mistakes.append(Mistake(file, node.lineno, f"feature '{name}'", expected, hint))


def _walle_names(tree: ast.Module, modules: set[str]) -> Iterator[tuple[str, str]]:
    """What names stand for walle or one of its modules."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name == "walle" or alias.name in modules:
                    yield (alias.asname or "walle", alias.name if alias.asname else "walle")
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.partition(".")[0] == "walle":
            for alias in node.names:
                yield alias.asname or alias.name, f"{node.module}.{alias.name}"


def _dotted(node: ast.expr, aliases: dict[str, str]) -> str:
    """An attribute as dotted name, "" where it begins with something else than walle."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name) or node.id not in aliases:
        return ""
    name = ".".join([aliases[node.id], *reversed(parts)])
    return name.replace("walle.record", "walle.events.record", 1) if name == "walle.record" else name


def _check_capabilities(
    reader: Reader, spec: TaskSpec, library: list[str], calls: list[str], used: set[str] | None
) -> None:
    modules = {call.rpartition(".")[0] for call in calls}
    tops = {each.partition(".")[0] for each in library}
    for name in spec.imports if library else ():
        if name not in tops:
            hint = one_of(name, tops, "walle task vm lists what there is")
            reader.wrong(
                ("capabilities", "imports"), f"import '{name}'", "a module of the VM's library", hint
            )
    for name in spec.host_calls:
        where = ("capabilities", "host_calls")
        if name not in modules and name not in calls:
            near = nearest(name, [*modules, *calls]) or nearest(name.rpartition(".")[0], modules)
            hint = f"did you mean '{near}'?" if near else "walle task vm lists what there is"
            reader.wrong(where, f"host call '{name}'", "one of " + ", ".join(sorted(modules)), hint)
        elif (
            name not in _DECLARED
            and used is not None
            and not any(m == name or name.startswith(m + ".") for m in used)
        ):
            reader.wrong(
                where,
                f"host call '{name}', which no file uses",
                "calls that are used",
                "remove it",
                error=False,
            )
