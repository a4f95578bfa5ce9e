def _getattr_static(instance, attr):
    """An attribute as it is stored: no descriptor and no __getattr__ runs (inspect.getattr_static)."""
    missing = object()

    def stored(classes):
        for cls in classes:
            found = type.__dict__["__dict__"].__get__(cls).get(attr, missing)
            if found is not missing:
                return found
        return missing

    kind = type(instance)
    in_class = stored(type.__dict__["__mro__"].__get__(kind))
    if isinstance(instance, type):
        own = stored(type.__dict__["__mro__"].__get__(instance))
    else:
        try:
            own = object.__getattribute__(instance, "__dict__").get(attr, missing)
        except AttributeError:
            own = missing
    kind = type(in_class)
    overrides = in_class is not missing and hasattr(kind, "__get__") and hasattr(kind, "__set__")
    for found in (in_class, own) if overrides else (own, in_class):
        if found is not missing:
            return found
    raise AttributeError(attr)


@functools.cache
def _lazy_load_getattr_static():
    return _getattr_static
