"""What a script may send to the lab: each action takes some keys, of some kinds, and no others.

A key that nobody reads would be lost in silence, and so would a guard or a box that is not what it
has to be. Nothing is done then.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from brenner.diagnostics.codes import serving as codes
from brenner.diagnostics.model import Diagnostic
from brenner.text import nearest, perhaps
from brenner.web.forms import ONCE, TOKEN, is_number
from brenner.web.page import Document
from brenner.web.visit import Visit

TEXT, FLAG, NUMBER = "a text", "true or false", "a whole number"
YES_OR_NO = f"{FLAG}, or yes or no"
NAMES, NAME_OR_NAMES, NUMBERS = "a list of names", "names", "message numbers"
DRY_RUN = "dry_run"
ROW_FIELDS = ("name", "role", "program", "model", "notes")
_ROW = re.compile(rf"agent\.([1-9][0-9]{{0,2}})\.(?:{'|'.join(ROW_FIELDS)})")
_OURS = (ONCE, TOKEN)
_NULL = "null"


class Takes(NamedTuple):
    """The keys of one action with their kinds, and how many rows of agents it takes."""

    kinds: Mapping[str, str]
    rows: int = 0

    @property
    def known(self) -> tuple[str, ...]:
        """The keys as they are told."""
        rows = [f"agent.N.{field}" for field in ROW_FIELDS] if self.rows else []
        return (*self.kinds, *rows, ONCE)


def takes(*, rows: int = 0, **keys: Iterable[str]) -> Takes:
    """The keys of an action, by their kinds; every action can be tried."""
    kinds = {"texts": TEXT, "flags": FLAG, "numbers": NUMBER, "names": NAME_OR_NAMES}
    kinds |= {"messages": NUMBERS, "answers": YES_OR_NO}
    found = {name: kinds[kind] for kind, names in keys.items() for name in names}
    return Takes(MappingProxyType({**found, DRY_RUN: FLAG}), rows)


def is_dry_run(visit: Visit) -> bool:
    """Whether a script wants to know only what would be done."""
    return isinstance(visit.sent, Mapping) and visit.sent.get(DRY_RUN) is True


def request_faults(visit: Visit, taken: Takes) -> tuple[Diagnostic, ...]:
    """What is wrong with the object itself."""
    sent = visit.sent if isinstance(visit.sent, Mapping) else {}
    where = f"POST {visit.path.partition('?')[0]}"
    return tuple(each for key in sent for each in _of_key(sent, key, where, taken))


def _of_key(sent: Mapping[str, object], key: str, where: str, taken: Takes) -> Iterator[Diagnostic]:
    row = _ROW.fullmatch(key)
    if row and 1 <= int(row[1]) <= taken.rows:
        yield from _of_row(sent, key, where, int(row[1]))
    elif key in taken.kinds:
        yield from wrong_kind(key, taken.kinds[key], sent[key])
    elif key in _OURS:
        yield from wrong_kind(key, TEXT, sent[key])
    else:
        yield unknown(key, where, taken.known)


def _of_row(sent: Mapping[str, object], key: str, where: str, number: int) -> Iterator[Diagnostic]:
    """Rows are read as far as they have names: one behind a gap would be passed over."""
    yield from wrong_kind(key, TEXT, sent[key])
    for each in range(1, number + 1):
        needed = f"agent.{each}.name"
        if needed not in sent:
            expected = "rows are counted from 1, without a gap"
            words = {"where": where, "argument": needed, "expected": expected}
            yield codes.MISSING_ARGUMENT.at(None, **words)
            return


def unknown(key: str, where: str, known: Iterable[str]) -> Diagnostic:
    """That nobody reads a key."""
    near = perhaps(nearest(key, tuple(known)))
    words = {"where": where, "argument": key, "known": ", ".join(known)}
    return codes.UNKNOWN_ARGUMENT.at(None, **words, suggestion=near)


def wrong_kind(key: str, expected: str, value: object) -> Iterator[Diagnostic]:
    """That a value is of another kind. `null` is a value that was not given, but no number: who
    sends a guard means it.
    """
    if value is None and expected != NUMBER:
        return
    if not _is(expected, value):
        words = {"argument": key, "expected": expected, "given": _kind(value)}
        yield codes.WRONG_ARGUMENT_TYPE.at(None, **words)


def _is(expected: str, value: object) -> bool:
    if expected == NUMBER:
        return _is_number(value)
    if expected == NUMBERS:
        return all(map(_is_number, value)) if isinstance(value, list) else _is_number(value)
    if expected in (NAMES, NAME_OR_NAMES) and isinstance(value, list):
        return all(isinstance(each, str) for each in value)
    if expected == YES_OR_NO:
        return isinstance(value, bool) or value in ("yes", "no", "")
    if expected == NAMES:
        return False
    return isinstance(value, bool if expected == FLAG else str)


def _is_number(value: object) -> bool:
    """A number, or one as text, as forms have it; `2.0` and `true` are none."""
    if isinstance(value, bool) or not isinstance(value, int | str):
        return False
    return is_number(str(value))


def _kind(value: object) -> str:
    if isinstance(value, float):
        return "a number that is not whole"
    kinds = {bool: FLAG, str: TEXT, list: "a list", dict: "an object", type(None): _NULL}
    return kinds.get(type(value), "a number")


def would_be_refused(document: Document) -> bool:
    """Whether what a preview says comes to nothing."""
    compiled, found = document.get("compiled"), document.get("violations")
    is_refused = isinstance(compiled, Mapping) and compiled.get("status") == "refused"
    errors = [
        each
        for each in (found if isinstance(found, list) else [])
        if isinstance(each, Mapping) and each.get("severity") == "error"
    ]
    return bool(document.get("fault") or errors or is_refused)
