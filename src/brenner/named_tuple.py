"""`typing.NamedTuple` without its cost at start: same syntax and behaviour, no `eval` per class.

The standard one compiles a constructor for every class, 60 µs each. A command that loads 150 such
classes spends as long on them as on an empty interpreter. Here classes with the same number of
fields share one compiled constructor; only the names of its parameters differ.

A module that uses it needs `from __future__ import annotations`.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple as NamedTuple  # noqa: PLC0414 (exported)
else:
    from _collections import _tuplegetter
    from types import FunctionType

    _make_tuple = tuple.__new__
    _CONSTRUCTOR_GLOBALS = {"_make_tuple": _make_tuple, "__name__": __name__}
    _constructor_codes = {}

    def _constructor(class_name, fields, defaults):
        """Return the `__new__` of a class with these fields."""
        code = _constructor_codes.get(len(fields))
        if code is None:
            names = "".join(f"_{number}, " for number in range(len(fields)))
            source = f"def __new__(_cls, {names}): return _make_tuple(_cls, ({names}))"
            namespace = {}
            exec(source, _CONSTRUCTOR_GLOBALS, namespace)  # noqa: S102 (no text from outside)
            code = _constructor_codes[len(fields)] = namespace["__new__"].__code__
        code = code.replace(co_varnames=("_cls", *fields), co_qualname=f"{class_name}.__new__")
        return FunctionType(code, _CONSTRUCTOR_GLOBALS, "__new__", defaults)

    class _NamedTupleMeta(type):
        """Turns the annotations of a class statement into fields."""

        def __new__(cls, name, bases, namespace):
            if tuple in bases or NamedTuple not in bases:  # itself, or a subclass of a named tuple
                return type.__new__(cls, name, bases, namespace)
            fields = tuple(namespace.get("__annotations__", ()))
            defaults = tuple([namespace.pop(each) for each in fields if each in namespace])
            for index, field in enumerate(fields):
                namespace[field] = _tuplegetter(index, None)
            namespace |= {
                "__new__": _constructor(name, fields, defaults or None),
                "__slots__": (),
                "__match_args__": fields,
                "_fields": fields,
                "_field_defaults": dict(
                    zip(fields[len(fields) - len(defaults) :], defaults, strict=True)
                ),
            }
            return type.__new__(cls, name, bases, namespace)

    class NamedTuple(tuple, metaclass=_NamedTupleMeta):
        """The base class to name in a class statement, with the methods of all named tuples."""

        __slots__ = ()
        _fields = ()

        @classmethod
        def _make(cls, values):
            made = _make_tuple(cls, values)
            if len(made) != len(cls._fields):
                message = f"Expected {len(cls._fields)} arguments, got {len(made)}"
                raise TypeError(message)
            return made

        def _replace(self, /, **changes):
            made = self._make(map(changes.pop, self._fields, self))
            if changes:
                message = f"Got unexpected field names: {list(changes)!r}"
                raise ValueError(message)
            return made

        def _asdict(self):
            return dict(zip(self._fields, self, strict=True))

        def __repr__(self):
            fields = zip(self._fields, self, strict=True)
            shown = ", ".join([f"{name}={value!r}" for name, value in fields])
            return f"{type(self).__name__}({shown})"

        def __getnewargs__(self):
            return tuple(self)
