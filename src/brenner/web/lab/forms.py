"""What a form has sent: fields by their names, from a browser or as JSON from a script."""

import json
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from urllib.parse import parse_qsl

from brenner.diagnostics.codes.lab import FORM_UNREADABLE
from brenner.diagnostics.errors import Refused
from brenner.web.visit import Visit

TOKEN, ONCE = "token", "once"
URLENCODED, JSON = "application/x-www-form-urlencoded", "application/json"
_MOST_FIELDS = 2_000
_OURS = frozenset({TOKEN, ONCE})
_NOT_UTF8, _NO_JSON, _NO_OBJECT = "it is not UTF-8", "it is no JSON", "it is no JSON object"
_TOO_MANY = f"it has more than {_MOST_FIELDS} fields"


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
        document = json.loads(body)
    except (ValueError, RecursionError):
        raise _unreadable(_NO_JSON) from None
    if not isinstance(document, dict):
        raise _unreadable(_NO_OBJECT)
    return Form(_fields(document)), document


def _fields(document: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """What a form could have sent as well; anything else is only in the object."""
    for name, value in document.items():
        for each in value if isinstance(value, list) else (value,):
            if isinstance(each, bool):
                yield from [(name, "yes")] if each else []
            elif isinstance(each, str | int | float):
                yield name, _lines(str(each))


def _lines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _unreadable(reason: str) -> Refused:
    return Refused(FORM_UNREADABLE.at(reason=reason))
