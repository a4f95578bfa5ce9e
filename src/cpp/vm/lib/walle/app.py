"""walle.app: functions of the application that [app] of task.toml declares: walle.app.price(7)."""

import _walle

_call = _walle.host("walle.app").call


def __getattr__(name):
    # What the import system asks of a module.
    if name[:2] == "__":
        raise AttributeError(name)
    return lambda *arguments: _call(name, list(arguments))
