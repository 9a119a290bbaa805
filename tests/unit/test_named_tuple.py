"""Our `NamedTuple` behaves as `typing.NamedTuple` does, and a lazy pattern as a compiled one."""

from __future__ import annotations

import copy
import inspect
import pickle
import re
import typing
from typing import Any, Generic, TypeVar

import pytest

from brenner.lazy_pattern import lazy_pattern
from brenner.named_tuple import NamedTuple

T = TypeVar("T")


class Ours(NamedTuple):
    """A class with a default, a method and a property."""

    name: str
    number: int = 3
    rest: tuple[int, ...] = ()

    @property
    def shown(self) -> str:
        return f"{self.name} {self.number}"

    def doubled(self) -> Ours:
        return self._replace(number=self.number * 2)


class Theirs(typing.NamedTuple):
    """The same class of the standard library."""

    name: str
    number: int = 3
    rest: tuple[int, ...] = ()


class OursEmpty(NamedTuple):
    """A class without fields."""


class OursGeneric(NamedTuple, Generic[T]):
    """A class with a type parameter."""

    value: T


@pytest.mark.parametrize(
    ("arguments", "keywords"),
    [
        (("a",), {}),
        (("a", 4), {}),
        (("a",), {"rest": (1, 2)}),
        ((), {"name": "a", "number": 0}),
    ],
)
def test_it_is_made_as_the_standard_one(
    arguments: tuple[Any, ...], keywords: dict[str, Any]
) -> None:
    made, expected = Ours(*arguments, **keywords), Theirs(*arguments, **keywords)
    assert tuple(made) == tuple(expected)
    assert repr(made) == repr(expected).replace("Theirs", "Ours")
    assert made._asdict() == expected._asdict()
    assert (made.name, made.number, made.rest) == (expected.name, expected.number, expected.rest)


@pytest.mark.parametrize(
    ("arguments", "keywords"),
    [((), {}), (("a", 1, (), 5), {}), (("a",), {"name": "b"}), (("a",), {"colour": 1})],
)
def test_it_refuses_as_the_standard_one(
    arguments: tuple[Any, ...], keywords: dict[str, Any]
) -> None:
    with pytest.raises(TypeError) as expected:
        Theirs(*arguments, **keywords)
    with pytest.raises(TypeError) as raised:
        Ours(*arguments, **keywords)
    assert str(raised.value) == str(expected.value).replace("Theirs", "Ours")


def test_its_class_looks_as_the_standard_one() -> None:
    for name in ("_fields", "_field_defaults", "__match_args__", "__slots__"):
        assert getattr(Ours, name) == getattr(Theirs, name)
    assert list(inspect.signature(Ours).parameters) == list(inspect.signature(Theirs).parameters)
    assert Ours.__doc__ == "A class with a default, a method and a property."
    assert Ours.__qualname__ == "Ours"
    assert Ours.__module__ == __name__
    assert issubclass(Ours, tuple)
    assert not hasattr(Ours("a"), "__dict__")


def test_methods_replacing_matching_and_copying() -> None:
    made = Ours("a")
    assert (made.shown, made.doubled()) == ("a 3", Ours("a", 6))
    assert (hash(made), made) == (hash(("a", 3, ())), ("a", 3, ()))
    assert pickle.loads(pickle.dumps(made)) == copy.deepcopy(made) == made  # noqa: S301
    assert isinstance(copy.copy(made), Ours)
    assert Ours._make(["b", 1, ()]) == Ours("b", 1)
    match made:
        case Ours(name, number):
            assert (name, number) == ("a", 3)
    with pytest.raises(ValueError, match="colour"):
        made._replace(colour=1)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="Expected 3 arguments, got 1"):
        Ours._make(["b"])
    with pytest.raises(AttributeError):
        made.name = "b"  # type: ignore[misc]


def test_no_fields_and_type_parameters() -> None:
    assert OursEmpty() == ()
    assert repr(OursEmpty()) == "OursEmpty()"
    assert OursGeneric[int](3).value == OursGeneric(3).value == 3


def test_a_pattern_is_compiled_on_first_use() -> None:
    lazy, bare = lazy_pattern(r"(a+)b", re.IGNORECASE), re.compile(r"(a+)b", re.IGNORECASE)
    assert "_compiled" in vars(lazy)
    assert vars(lazy)["_compiled"] is None
    for text in ("xAAb", "aab", "", "b"):
        found, expected = lazy.search(text), bare.search(text)
        assert (found and found.groups()) == (expected and expected.groups())
        assert lazy.sub("-", text) == bare.sub("-", text)
    assert lazy.pattern == bare.pattern
    assert lazy_pattern(rb"\d+").findall(b"1 22") == [b"1", b"22"]
