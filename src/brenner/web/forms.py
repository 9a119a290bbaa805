"""What a form has sent: fields by their names, from a browser or as JSON from a script."""

import json
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from urllib.parse import parse_qsl

from brenner.diagnostics.codes.web import FORM_UNREADABLE
from brenner.diagnostics.model import Refused
from brenner.web.visit import Visit

TOKEN, ONCE = "token", "once"
URLENCODED, JSON = "application/x-www-form-urlencoded", "application/json"
_MOST_FIELDS = 2_000
_MOST_DIGITS = 18
_OURS = frozenset({TOKEN, ONCE})
_TICK = "yes"
_NOT_UTF8, _NO_JSON, _NO_OBJECT = "it is not UTF-8", "it is no JSON", "it is no JSON object"
_TOO_MANY = f"it has more than {_MOST_FIELDS} fields"
_TWICE = "a key stands twice in one object"
_HALF = "it has half a character in it (a lone surrogate)"


class Form(Mapping[str, str]):
    """The first value of each field; `many` gives all values of one that stands there often."""

    def __init__(self, fields: Iterable[tuple[str, str]] = ()) -> None:
        self._fields: dict[str, tuple[str, ...]] = {}
        for name, value in fields:
            self._fields[name] = (*self._fields.get(name, ()), value)

    def __getitem__(self, name: str) -> str:
        return self._fields[name][0]

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    def many(self, name: str) -> tuple[str, ...]:
        """All values of a field, in their order."""
        return self._fields.get(name, ())

    def including(self, name: str, value: str) -> "Form":
        """The same with one field that has this value, whatever it had."""
        others = [(key, each) for key, values in self._fields.items() for each in values]
        return Form([(name, value), *(field for field in others if field[0] != name)])

    @property
    def content(self) -> str:
        """What tells one content from another; the marks of the form itself do not count."""
        told = sorted((name, each) for name, each in self._fields.items() if name not in _OURS)
        return sha256(json.dumps(told).encode()).hexdigest()

    @property
    def typed(self) -> tuple[tuple[str, str], ...]:
        """Every field with every value, without the marks of the form itself."""
        return tuple(
            (name, value)
            for name, values in self._fields.items()
            for value in values
            if name not in _OURS
        )


def many(visit: Visit, name: str) -> tuple[str, ...]:
    """All values of a field of a form."""
    form = visit.form
    if isinstance(form, Form):
        return form.many(name)
    return (form[name],) if name in form else ()


def read_form(body: bytes) -> Form:
    """The fields that a browser sends. Lines end as they do everywhere else."""
    try:
        fields = parse_qsl(
            body.decode("ascii"),
            keep_blank_values=True,
            max_num_fields=_MOST_FIELDS,
            errors="strict",
        )
    except UnicodeDecodeError:
        raise _unreadable(_NOT_UTF8) from None
    except ValueError:
        raise _unreadable(_TOO_MANY) from None
    return Form((name, _lines(value)) for name, value in fields)


def read_json(body: bytes) -> tuple[Form, object]:
    """The fields that a script sends as one object, and the object itself."""
    try:
        document = json.loads(body, object_pairs_hook=_each_once, parse_constant=_no_number)
        json.dumps(document, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise _unreadable(_HALF) from None
    except (ValueError, RecursionError):
        raise _unreadable(_NO_JSON) from None
    if not isinstance(document, dict):
        raise _unreadable(_NO_OBJECT)
    return Form(_fields(document)), document


def content_of(sent: Mapping[str, object]) -> str:
    """What tells one object from another, however deep; its own marks do not count."""
    told = {name: value for name, value in sent.items() if name not in _OURS}
    return sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()


def is_number(text: str) -> bool:
    """Whether it is a number, in plain digits."""
    return text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS


def number_in(form: Mapping[str, str], name: str) -> int | None:
    """A number that a form bears; None where it does not. Anything else there is refused: who
    sends a guard that cannot be read has looked at something, and nobody knows at what.
    """
    given = form.get(name)
    if given is None:
        return None
    if not is_number(given):
        reason = f"`{name}` is no number"
        raise _unreadable(reason)
    return int(given)


def is_ticked(form: Mapping[str, str], name: str) -> bool:
    """Whether a box is ticked; what is neither a tick nor none is refused."""
    given = form.get(name, "")
    if given not in ("", _TICK):
        reason = f"`{name}` is neither `{_TICK}` nor empty"
        raise _unreadable(reason)
    return bool(given)


def _each_once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """An object whose keys each stand there once: of two that differ one would be lost."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise _unreadable(_TWICE)
    return found


def _no_number(name: str) -> object:
    raise ValueError(name)


def _fields(document: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """What a form could have sent as well; anything else is only in the object."""
    for name, value in document.items():
        for each in value if isinstance(value, list) else (value,):
            if isinstance(each, bool):
                yield from [(name, _TICK)] if each else []
            elif isinstance(each, str | int | float):
                yield name, _lines(str(each))


def _lines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _unreadable(reason: str) -> Refused:
    return Refused(FORM_UNREADABLE.at(reason=reason))
