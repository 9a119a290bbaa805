"""Check the value of a payload field by its kind: text, anchors, outcomes, results, … (R6)."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import cast

from brenner.diagnostics.codes import deltas as codes
from brenner.lazy_pattern import lazy_pattern
from brenner.protocol.delta.problems import JsonPath, Problems, Repair, format_names, rename_key
from brenner.protocol.delta.schema import (
    HYPOTHESIS_SLATE,
    MOST_SCORE,
    POTENCIES,
    POTENCY_FAILED,
    REFERENCE_FIELDS,
    RELATIONS,
    RESULT_ASKS,
    RESULT_FIELDS,
    SCORE_PARTS,
    VERDICT_FIELDS,
    Field,
    FieldKind,
)
from brenner.protocol.grammar import (
    ANCHOR,
    CITED_SECTIONS,
    EVIDENCE_FILE,
    ISO_TIME,
    ITEM_ID,
    LOCAL_ID,
    LOCAL_REFERENCE,
    MOJIBAKE_SECTION_SIGN,
    OUTCOME_KEY,
)
from brenner.protocol.thread_ids import is_valid_thread_id
from brenner.text import closest, did_you_mean

FieldCheck = Callable[[Field, object, JsonPath, Problems], None]


# White space of all kinds, and zero-width characters
WHITE_SPACE = (
    " \t\n\r\x0b\x0c\x1c\x1d\x1e\x1f\x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006"
    "\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000\u200b\u200c\u200d\u2060\ufeff"
)


def is_blank(content: object) -> bool:
    """Return whether a field is empty: only white space, or an empty list or object."""
    if type(content) is str:
        return not content.strip(WHITE_SPACE)
    return isinstance(content, list | dict) and not content


def _check_text(_field: Field, content: object, path: JsonPath, problems: Problems) -> None:
    if type(content) is not str:
        problems.wrong_type(path, content, "a string")


def _check_flag(_field: Field, content: object, path: JsonPath, problems: Problems) -> None:
    if type(content) is not bool:
        spelled = content.strip().lower() if type(content) is str else ""
        repair = Repair(spelled) if spelled in ("true", "false") else None
        problems.wrong_type(path, content, "true or false, without quotes", repair)


def _check_choice(field: Field, content: object, path: JsonPath, problems: Problems) -> None:
    if type(content) is not str:
        problems.wrong_type(path, content, "one of " + format_names(field.choices))
    elif content not in field.choices and not is_blank(content):
        meant = content.strip().lower()
        repair = Repair(json.dumps(meant)) if meant in field.choices else None
        near = closest(content, field.choices)
        problems.invalid_value(path, content, field.choices, near, repair)


_ANCHOR_LIST = 'a list of anchors such as ["§42", "inference"]'
_ID_LIST = 'a list of item IDs such as ["H1", "H2"]'


def _check_anchors(_field: Field, content: object, path: JsonPath, problems: Problems) -> None:
    if type(content) is not list:
        problems.wrong_type(path, content, _ANCHOR_LIST, _wrap_in_list(content))
        return
    for index, anchor in enumerate(content):
        if type(anchor) is not str:
            problems.wrong_type((*path, index), anchor, "a string")
        elif not ANCHOR.fullmatch(anchor) or not is_ascending(anchor):
            _report_malformed_anchor(anchor, (*path, index), problems)
        if problems and problems.reach_limit:
            return


def _wrap_in_list(content: object) -> Repair | None:
    """Return the repair for a text in place of a list, unless it may list several values."""
    if type(content) is not str or is_blank(content) or "," in content or ";" in content:
        return None
    return Repair(json.dumps([content], ensure_ascii=False))


def _report_malformed_anchor(anchor: str, path: JsonPath, problems: Problems) -> None:
    if is_blank(anchor):
        problems.missing(path, "an anchor such as `§42`", "is empty")
        return
    right = MOJIBAKE_SECTION_SIGN.sub("§", anchor)
    if right != anchor:
        problems.report(codes.MOJIBAKE_ANCHOR, path, anchor=anchor, right=right)
        return
    reason = ": its range does not ascend" if ANCHOR.fullmatch(anchor) else ""
    problems.report(codes.MALFORMED_ANCHOR, path, anchor=anchor, reason=reason)


def is_ascending(anchor: str) -> bool:
    """Return whether every range such as `§42-45` in a well-formed anchor ascends."""
    if anchor.startswith("[") or ("-" not in anchor and "–" not in anchor):
        return True  # the name of an external source may be anything
    ranges = [match.groups() for match in CITED_SECTIONS.finditer(anchor)]
    return all(last is None or int(first) < int(last) for first, last in ranges)


def _check_items(_field: Field, content: object, path: JsonPath, problems: Problems) -> None:
    _check_ids(content, path, problems, "an item ID")


def _check_hypotheses(_field: Field, content: object, path: JsonPath, problems: Problems) -> None:
    _check_ids(content, path, problems, "a hypothesis's ID", HYPOTHESIS_SLATE.prefix)


def _check_ids(
    content: object, path: JsonPath, problems: Problems, what: str, prefix: str = ""
) -> None:
    """Check a list of IDs that begin with the prefix, and of `@names`."""
    if type(content) is not list:
        problems.wrong_type(path, content, _ID_LIST, _wrap_in_list(content))
        return
    for index, item in enumerate(content):
        here = (*path, index)
        if type(item) is not str:
            problems.wrong_type(here, item, what)
        elif not _names_item(item, prefix):
            repair = _item_repair(item, problems)
            is_certain = repair is not None and _names_item(json.loads(repair.json_text), prefix)
            problems.invalid_item(here, item, what, "H1", repair if is_certain else None)
        if problems and problems.reach_limit:
            return


def _names_item(text: str, prefix: str) -> bool:
    """Return whether a text is an item ID with this prefix, or an `@name`."""
    is_id = text.startswith(prefix) and ITEM_ID.fullmatch(text)
    return bool(is_id or LOCAL_REFERENCE.fullmatch(text))


def _item_repair(written: str, problems: Problems) -> Repair | None:
    """Return the repair for an item ID in another spelling, or a local name without its `@`."""
    tidy = written.strip().upper()
    meant = tidy if ITEM_ID.fullmatch(tidy) else local_reference(written, problems)
    return Repair(json.dumps(meant)) if meant else None


def local_reference(written: str, problems: Problems) -> str | None:
    """Return the `@name` of this message that a text certainly means, or None."""
    name = closest(written.strip().lstrip("@"), problems.names, 0) if problems.names else None
    return f"@{name}" if name and LOCAL_ID.fullmatch(name) else None


def _check_outcomes(_field: Field, content: object, path: JsonPath, problems: Problems) -> None:
    if type(content) is not dict:
        problems.wrong_type(path, content, 'an object such as {"H1": "…", "H2": "…"}')
        return
    for key, outcome in content.items():
        is_hypothesis = key.startswith("H") and ITEM_ID.fullmatch(key)
        if not is_hypothesis and not LOCAL_REFERENCE.fullmatch(key):
            repair = _rename_to_item_id(key, content, problems)
            problems.invalid_item((*path, key), key, "a hypothesis's ID", "H1", repair)
        if type(outcome) is not str:
            problems.wrong_type((*path, key), outcome, "a string")
        elif outcome[:1] in WHITE_SPACE and is_blank(outcome):
            problems.missing((*path, key), "what the hypothesis predicts", "is empty")
        if problems and problems.reach_limit:
            return


def _rename_to_item_id(key: str, content: dict[str, object], problems: Problems) -> Repair | None:
    tidy = key.strip().upper()
    is_hypothesis = tidy.startswith("H") and ITEM_ID.fullmatch(tidy)
    meant = tidy if is_hypothesis else local_reference(key, problems)
    return rename_key(meant) if meant and meant not in content else None


def _check_score(_field: Field, content: object, path: JsonPath, problems: Problems) -> None:
    if type(content) is not dict:
        problems.wrong_type(path, content, 'an object such as {"likelihood_ratio": 2, "cost": 3}')
        return
    for part, number in content.items():
        if part not in SCORE_PARTS:
            absent = [name for name in SCORE_PARTS if name not in content]
            problems.unknown((*path, part), "a score", SCORE_PARTS, absent)
        elif type(number) is not int:
            problems.wrong_type(
                (*path, part), number, "a whole number from 0 to 3", _whole_number_repair(number)
            )
        elif not 0 <= number <= MOST_SCORE:
            problems.invalid_value((*path, part), str(number), map(str, range(MOST_SCORE + 1)))
        if problems and problems.reach_limit:
            return


def _whole_number_repair(content: object) -> Repair | None:
    """Return the repair for a number from 0 to 3 in quotes or with `.0`."""
    text = content.strip() if type(content) is str else repr(content)
    plain = text.removesuffix(".0")
    return Repair(plain) if plain in ("0", "1", "2", "3") else None


def _check_references(_field: Field, content: object, path: JsonPath, problems: Problems) -> None:
    if type(content) is not list:
        problems.wrong_type(path, content, "a list of references")
        return
    for index, reference in enumerate(content):
        here = (*path, index)
        if type(reference) is not dict:
            expected = "an object with `session`, `item` and `relation`"
            problems.wrong_type(here, reference, expected)
        else:
            _check_reference(reference, here, problems)
        if problems and problems.reach_limit:
            return


def _check_reference(reference: dict[str, object], path: JsonPath, problems: Problems) -> None:
    if reference.keys() != _REFERENCE_CHECKS.keys():
        unknown = [key for key in reference if key not in REFERENCE_FIELDS]
        missing = {name: _REFERENCE_ASKS for name in REFERENCE_FIELDS if name not in reference}
        known = {name: name in reference for name in REFERENCE_FIELDS}
        problems.wrong_names(path, "a reference", unknown, known, missing)
    for key, check in _REFERENCE_CHECKS.items():
        text = reference.get(key)
        here = (*path, key)
        if type(text) is str and not is_blank(text):
            check(text, here, problems)
        elif type(text) is str:
            problems.missing(here, _REFERENCE_ASKS, "is empty")
        elif key in reference:
            problems.wrong_type(here, text, "a string")


_REFERENCE_ASKS = "a reference has `session`, `item` and `relation`"


def _check_reference_session(session: str, path: JsonPath, problems: Problems) -> None:
    if not is_valid_thread_id(session):
        reason = "is not a valid thread ID"
        problems.report(codes.UNKNOWN_REFERENCE, path, value=session, reason=reason)


def _check_reference_item(item: str, path: JsonPath, problems: Problems) -> None:
    if not ITEM_ID.fullmatch(item) and not LOCAL_REFERENCE.fullmatch(item):
        reason = "is not a valid item ID"
        problems.report(codes.UNKNOWN_REFERENCE, path, value=item, reason=reason)


def _check_reference_relation(relation: str, path: JsonPath, problems: Problems) -> None:
    if relation not in RELATIONS:
        tidy = relation.strip().lower().replace(" ", "_").replace("-", "_")
        problems.report(
            codes.INVALID_RELATION,
            path,
            Repair(json.dumps(tidy)) if tidy in RELATIONS else None,
            value=relation,
            expected=format_names(RELATIONS),
            suggestion=did_you_mean(closest(relation, RELATIONS)),
        )


_REFERENCE_CHECKS: dict[str, Callable[[str, JsonPath, Problems], None]] = {
    "session": _check_reference_session,
    "item": _check_reference_item,
    "relation": _check_reference_relation,
}


def _check_descriptions(field: Field, content: object, path: JsonPath, problems: Problems) -> None:
    """Check declared outcomes (R27)."""
    if type(content) is not dict:
        problems.wrong_type(path, content, 'an object such as {"slow": "…", "fast": "…"}')
        return
    for key, text in content.items():
        if not OUTCOME_KEY.fullmatch(key):
            meant = _NOT_IN_A_KEY.sub("_", key.strip().lower()).strip("_")[:_MOST_OUTCOME_KEY]
            is_certain = closest(key, [meant], 0) is not None and meant not in content
            problems.report(
                codes.INVALID_OUTCOME_KEY,
                (*path, key),
                rename_key(meant) if meant and is_certain else None,
                name=field.name,
                key=key,
                suggestion=did_you_mean(meant or None),
            )
        if type(text) is not str:
            problems.wrong_type((*path, key), text, "a string")
        elif is_blank(text):
            problems.missing((*path, key), "what one sees in this case", "is empty")
        if problems and problems.reach_limit:
            return


_NOT_IN_A_KEY = lazy_pattern(r"[^a-z0-9-]+")
_MOST_OUTCOME_KEY = 32


def _check_results(_field: Field, content: object, path: JsonPath, problems: Problems) -> None:
    """Check the results of a test (R26)."""
    if type(content) is not list:
        form = 'a list such as [{"outcome": "…", "potency": "passed"}]'
        problems.wrong_type(path, content, form)
        return
    for index, result in enumerate(content):
        if type(result) is not dict:
            expected = "an object with `outcome` and `potency`"
            problems.wrong_type((*path, index), result, expected)
        else:
            _check_result(result, (*path, index), problems)
        if problems and problems.reach_limit:
            return


def _check_result(result: dict[str, object], path: JsonPath, problems: Problems) -> None:
    unknown = [key for key in result if key not in RESULT_FIELDS]
    missing = {name: asks for name, asks in RESULT_ASKS.items() if name not in result}
    if unknown or missing:
        known = {name: name in result for name in RESULT_FIELDS}
        problems.wrong_names(path, "a result", unknown, known, missing)
    for name, content in result.items():
        if name not in RESULT_FIELDS or (content is None and name not in RESULT_ASKS):
            continue
        before = len(problems)
        field, check = _RESULT_CHECKS[name]
        check(field, content, (*path, name), problems)
        if name in RESULT_ASKS and is_blank(content) and len(problems) == before:
            problems.missing((*path, name), RESULT_ASKS[name], "is empty")
    _check_verdict(result, path, problems)


def _check_verdict(result: dict[str, object], path: JsonPath, problems: Problems) -> None:
    """Report a verdict that contradicts itself, and one that a failed potency check cancels."""
    given = [each for each in VERDICT_FIELDS if type(result.get(each)) is list]
    lists = [cast("list[object]", result[each]) for each in given]
    both = [each for each in lists[0] if each in lists[1]] if len(lists) > 1 else []
    for name in dict.fromkeys(map(str, both)):
        problems.report(codes.CONTRADICTING_VERDICT, (*path, "supports"), id=name)
    if result.get("potency") == POTENCY_FAILED and any(lists):
        problems.report(codes.VERDICT_WITHOUT_POTENCY, (*path, given[0]))


def _check_time(_field: Field, content: object, path: JsonPath, problems: Problems) -> None:
    if type(content) is not str:
        problems.wrong_type(path, content, "a time such as 2025-12-30T14:00:00Z")
    elif not ISO_TIME.fullmatch(content) or parse_time(content) is None:
        problems.report(codes.INVALID_TIME, path, value=content)


def parse_time(text: str) -> datetime | None:
    """Return an ISO 8601 time with its time zone (UTC unless stated), or None."""
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return None
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def _check_evidence(_field: Field, content: object, path: JsonPath, problems: Problems) -> None:
    if type(content) is not list:
        expected = 'a list such as ["EV-001#E1", "file:PATH#sha256=HEX"]'
        problems.wrong_type(path, content, expected, _wrap_in_list(content))
        return
    for index, evidence in enumerate(content):
        here = (*path, index)
        if type(evidence) is not str:
            problems.wrong_type(here, evidence, "a string")
        elif is_blank(evidence):
            problems.missing(here, "an anchor or a file", "is empty")
        elif not is_evidence(evidence):
            problems.report(codes.MALFORMED_EVIDENCE, here, value=evidence)


def is_evidence(text: str) -> bool:
    """Return whether a text is an anchor, or a file with the SHA-256 of its content."""
    if EVIDENCE_FILE.fullmatch(text):
        return True
    return ANCHOR.fullmatch(text) is not None and is_ascending(text)


_RESULT_CHECKS: dict[str, tuple[Field, FieldCheck]] = {
    name: (Field(name, kind, "", choices=choices), check)
    for name, kind, choices, check in (
        ("outcome", FieldKind.TEXT, (), _check_text),
        ("potency", FieldKind.CHOICE, POTENCIES, _check_choice),
        ("contradicts", FieldKind.ITEMS, (), _check_hypotheses),
        ("supports", FieldKind.ITEMS, (), _check_hypotheses),
        ("observed_at", FieldKind.TEXT, (), _check_time),
        ("evidence", FieldKind.ANCHORS, (), _check_evidence),
        ("note", FieldKind.TEXT, (), _check_text),
    )
}

FIELD_CHECKS: dict[FieldKind, FieldCheck] = {
    FieldKind.TEXT: _check_text,
    FieldKind.FLAG: _check_flag,
    FieldKind.CHOICE: _check_choice,
    FieldKind.ANCHORS: _check_anchors,
    FieldKind.ITEMS: _check_items,
    FieldKind.OUTCOMES: _check_outcomes,
    FieldKind.SCORE: _check_score,
    FieldKind.REFERENCES: _check_references,
    FieldKind.DESCRIPTIONS: _check_descriptions,
    FieldKind.RESULTS: _check_results,
}
