"""Each kind of payload field has its check: what it may hold (ruling R6)."""

import json
from collections.abc import Callable

from brenner.delta.problems import Path, Problems, RenameKey, SetValue, listed
from brenner.delta.schema import (
    MOST_SCORE,
    REFERENCE_FIELDS,
    RELATIONS,
    SCORE_PARTS,
    Field,
    FieldKind,
)
from brenner.diagnostics.codes import deltas as codes
from brenner.grammar import ANCHOR, CITED_SECTIONS, ITEM_ID, LOCAL_REFERENCE, MOJIBAKE_SECTION_SIGN
from brenner.text import nearest, perhaps
from brenner.thread.ids import is_valid

Check = Callable[[Field, object, Path, Problems], None]


# White space of all kinds, and characters without any width
BLANKS = (
    " \t\n\r\x0b\x0c\x1c\x1d\x1e\x1f\x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006"
    "\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000\u200b\u200c\u200d\u2060\ufeff"
)


def is_blank(content: object) -> bool:
    """Whether a field says nothing: only white space, or an empty list or object."""
    if type(content) is str:
        return not content.strip(BLANKS)
    return content in ([], {})


def _text(_field: Field, content: object, path: Path, problems: Problems) -> None:
    if type(content) is not str:
        problems.wrong_type(path, content, "a text")


def _flag(_field: Field, content: object, path: Path, problems: Problems) -> None:
    if type(content) is not bool:
        spelled = content.strip().lower() if type(content) is str else ""
        repair = SetValue(spelled) if spelled in ("true", "false") else None
        problems.wrong_type(path, content, "true or false, without quotes", repair)


def _choice(field: Field, content: object, path: Path, problems: Problems) -> None:
    if type(content) is not str:
        problems.wrong_type(path, content, "one of " + listed(field.choices))
    elif content not in field.choices and not is_blank(content):
        meant = content.strip().lower()
        repair = SetValue(json.dumps(meant)) if meant in field.choices else None
        near = nearest(content, field.choices)
        problems.invalid_value(path, content, field.choices, near, repair)


def _anchors(_field: Field, content: object, path: Path, problems: Problems) -> None:
    if type(content) is not list:
        problems.wrong_type(path, content, "a list of anchors", _in_a_list(content))
        return
    for index, anchor in enumerate(content):
        if type(anchor) is not str:
            problems.wrong_type((*path, index), anchor, "a text")
        elif not ANCHOR.fullmatch(anchor) or not ascends(anchor):
            _malformed_anchor(anchor, (*path, index), problems)
        if problems.are_enough:
            return


def _in_a_list(content: object) -> SetValue | None:
    """One text where a list of texts belongs has one reading, unless it lists several itself."""
    if type(content) is not str or is_blank(content) or "," in content or ";" in content:
        return None
    return SetValue(json.dumps([content], ensure_ascii=False))


def _malformed_anchor(anchor: str, path: Path, problems: Problems) -> None:
    if is_blank(anchor):
        problems.missing(path, "an anchor such as `§42`", "is blank")
        return
    right = MOJIBAKE_SECTION_SIGN.sub("§", anchor)
    if right != anchor:
        problems.report(codes.MOJIBAKE_ANCHOR, path, anchor=anchor, right=right)
        return
    reason = ": its range does not ascend" if ANCHOR.fullmatch(anchor) else ""
    problems.report(codes.MALFORMED_ANCHOR, path, anchor=anchor, reason=reason)


def ascends(anchor: str) -> bool:
    """Whether every range such as `§42-45` in a well-formed anchor goes upwards."""
    if anchor.startswith("["):
        return True  # what an external source is called is not ours to judge
    ranges = [match.groups() for match in CITED_SECTIONS.finditer(anchor)]
    return all(last is None or int(first) < int(last) for first, last in ranges)


def _items(_field: Field, content: object, path: Path, problems: Problems) -> None:
    if type(content) is not list:
        problems.wrong_type(path, content, "a list of item IDs", _in_a_list(content))
        return
    for index, item in enumerate(content):
        here = (*path, index)
        if type(item) is not str:
            problems.wrong_type(here, item, "an item's ID")
        elif not ITEM_ID.fullmatch(item) and not LOCAL_REFERENCE.fullmatch(item):
            tidy = item.strip().upper()
            repair = SetValue(json.dumps(tidy)) if ITEM_ID.fullmatch(tidy) else None
            problems.invalid_item(here, item, "an item's ID", "H1", repair)
        if problems.are_enough:
            return


def _outcomes(_field: Field, content: object, path: Path, problems: Problems) -> None:
    """A map from hypotheses to what each lets one expect."""
    if type(content) is not dict:
        problems.wrong_type(path, content, 'an object such as {"H1": "…", "H2": "…"}')
        return
    for key, outcome in content.items():
        here = (*path, key)
        match = ITEM_ID.fullmatch(key)
        if (match is None or match[1] != "H") and not LOCAL_REFERENCE.fullmatch(key):
            problems.invalid_item(here, key, "a hypothesis's ID", "H1", _tidy_key(key, content))
        if type(outcome) is not str:
            problems.wrong_type(here, outcome, "a text")
        elif is_blank(outcome):
            problems.missing(here, "what the hypothesis lets one expect", "is blank")
        if problems.are_enough:
            return


def _tidy_key(key: str, content: dict[str, object]) -> RenameKey | None:
    tidy = key.strip().upper()
    is_certain = tidy.startswith("H") and ITEM_ID.fullmatch(tidy) and tidy not in content
    return RenameKey(tidy) if is_certain else None


def _score(_field: Field, content: object, path: Path, problems: Problems) -> None:
    if type(content) is not dict:
        problems.wrong_type(path, content, 'an object such as {"likelihood_ratio": 2, "cost": 3}')
        return
    for part, number in content.items():
        here = (*path, part)
        if part not in SCORE_PARTS:
            absent = [name for name in SCORE_PARTS if name not in content]
            problems.unknown(here, "a score", SCORE_PARTS, absent)
        elif type(number) is not int:
            problems.wrong_type(here, number, "a whole number from 0 to 3", _whole(number))
        elif not 0 <= number <= MOST_SCORE:
            problems.invalid_value(here, str(number), map(str, range(MOST_SCORE + 1)))
        if problems.are_enough:
            return


def _whole(content: object) -> SetValue | None:
    """A number from 0 to 3 in quotes, or with `.0`, has only one reading."""
    text = content.strip() if type(content) is str else repr(content)
    plain = text.removesuffix(".0")
    return SetValue(plain) if plain in ("0", "1", "2", "3") else None


def _references(_field: Field, content: object, path: Path, problems: Problems) -> None:
    if type(content) is not list:
        problems.wrong_type(path, content, "a list of references")
        return
    for index, reference in enumerate(content):
        here = (*path, index)
        if type(reference) is not dict:
            expected = "an object with `session`, `item` and `relation`"
            problems.wrong_type(here, reference, expected)
        else:
            _reference(reference, here, problems)
        if problems.are_enough:
            return


def _reference(reference: dict[str, object], path: Path, problems: Problems) -> None:
    if reference.keys() != _REFERENCE_CHECKS.keys():
        unknown = [key for key in reference if key not in REFERENCE_FIELDS]
        missing = {name: _REFERENCE_ASKS for name in REFERENCE_FIELDS if name not in reference}
        known = {name: name in reference for name in REFERENCE_FIELDS}
        problems.names(path, "a reference", unknown, known, missing)
    for key, check in _REFERENCE_CHECKS.items():
        text = reference.get(key)
        here = (*path, key)
        if type(text) is str and not is_blank(text):
            check(text, here, problems)
        elif type(text) is str:
            problems.missing(here, _REFERENCE_ASKS, "is blank")
        elif key in reference:
            problems.wrong_type(here, text, "a text")


_REFERENCE_ASKS = "a reference has `session`, `item` and `relation`"


def _reference_session(session: str, path: Path, problems: Problems) -> None:
    if not is_valid(session):
        reason = "is not a valid thread ID, so no session will ever have it"
        problems.report(codes.UNKNOWN_REFERENCE, path, value=session, reason=reason)


def _reference_item(item: str, path: Path, problems: Problems) -> None:
    if not ITEM_ID.fullmatch(item) and not LOCAL_REFERENCE.fullmatch(item):
        reason = "is not an item's ID, so no item will ever have it"
        problems.report(codes.UNKNOWN_REFERENCE, path, value=item, reason=reason)


def _reference_relation(relation: str, path: Path, problems: Problems) -> None:
    if relation not in RELATIONS:
        tidy = relation.strip().lower().replace(" ", "_").replace("-", "_")
        problems.report(
            codes.INVALID_RELATION,
            path,
            SetValue(json.dumps(tidy)) if tidy in RELATIONS else None,
            value=relation,
            expected=listed(RELATIONS),
            suggestion=perhaps(nearest(relation, RELATIONS)),
        )


_REFERENCE_CHECKS: dict[str, Callable[[str, Path, Problems], None]] = {
    "session": _reference_session,
    "item": _reference_item,
    "relation": _reference_relation,
}

CHECKS: dict[FieldKind, Check] = {
    FieldKind.TEXT: _text,
    FieldKind.FLAG: _flag,
    FieldKind.CHOICE: _choice,
    FieldKind.ANCHORS: _anchors,
    FieldKind.ITEMS: _items,
    FieldKind.OUTCOMES: _outcomes,
    FieldKind.SCORE: _score,
    FieldKind.REFERENCES: _references,
}
