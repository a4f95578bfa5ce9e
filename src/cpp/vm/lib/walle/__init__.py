"""What a task sees of the device: walle.log, walle.kv, walle.time ... and native tensors.

Host-call modules load when first used; which of them exist, and which a task may call, the host decides.
"""

import _walle


def __getattr__(name):
    if name == "Tensor":
        value = globals()["Tensor"] = _walle.tensor()
        return value
    if name == "record":
        return _walle.host("walle.events").record
    full = "walle." + name
    if name[:1] != "_" and _walle.find(full):
        import sys

        __import__(full)
        return sys.modules[full]
    raise AttributeError("module 'walle' has no attribute %r" % (name,))
