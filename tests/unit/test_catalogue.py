"""The catalogue: complete, consistent, and every example does what it says."""

import re
import tomllib
from collections.abc import Callable
from string import Formatter

import pytest

from brenner.diagnostics.catalogue import CATALOGUE, chapters, closest_code, find_code
from brenner.diagnostics.explanations import catalogue_text
from brenner.diagnostics.labels import LABELS
from brenner.diagnostics.model import Code, Diagnostic, Severity
from brenner.protocol.subjects import check_subject
from brenner.protocol.thread_ids import check_thread_id
from brenner.protocol.validate import check_message
from brenner.text import template_text

CODES = list(CATALOGUE.values())
HEADERS = "Thread: RS-20251230-cell-fate-dichotomy\nFrom: BlueLake\n"
CHECKED = [code for code in CODES if code.example.kind != "text"]


def message(text: str) -> list[Diagnostic]:
    """Check an example of a message, with the headers that it leaves out."""
    if not text:
        return list(check_message(text).violations)
    to = "" if re.search(r"^To:", text, re.MULTILINE) else "To: Operator\n"
    return list(check_message(f"{HEADERS}{to}{text}").violations)


def block(text: str) -> list[Diagnostic]:
    """Check an example of the inside of a delta block."""
    return message(f"Subject: DELTA[opus]: x\n\n```delta\n{text}\n```\n")


CHECKS: dict[str, Callable[[str], list[Diagnostic]]] = {
    "thread_id": check_thread_id,
    "subject": check_subject,
    "message": message,
    "block": block,
}


@pytest.mark.parametrize("code", CHECKED, ids=lambda code: code.id)
def test_example_shows_the_code(code: Code) -> None:
    """The wrong side gets the code, or one that names it under `also`; the right side does not."""
    check = CHECKS[code.example.kind]
    wrong = {name for found in check(code.example.wrong) for name in (found.id, *found.also)}
    assert code.id in wrong
    right = check(code.example.right)
    assert code.id not in {name for found in right for name in (found.id, *found.also)}
    assert [found.id for found in right if found.severity is Severity.ERROR] == []


@pytest.mark.parametrize("code", CODES, ids=lambda code: code.id)
def test_entry_is_whole(code: Code) -> None:
    """Every entry has its texts, and they end as sentences do."""
    assert re.fullmatch(r"[A-Z][A-Z0-9]*([_-][A-Z0-9]+)*", code.id)
    for text in (code.title, code.message, code.fix, code.why, code.spec):
        assert text.strip() == text
        assert text
    assert not code.title.endswith(".")
    assert code.why.endswith((".", "`"))
    assert re.fullmatch(r"\d+\.\d+\.\d+", code.since)
    assert code.example.wrong != code.example.right


@pytest.mark.parametrize("code", CODES, ids=lambda code: code.id)
def test_templates_can_be_filled(code: Code) -> None:
    """The places in message and fix are plain names, and none is a parameter of `Code.at`."""
    names = {
        name
        for template in (code.message, code.fix)
        for _, name, _, _ in Formatter().parse(template)
        if name is not None
    }
    assert all(name.isidentifier() for name in names)
    found = code.at(3, **{name: f"<{name}>" for name in names})
    assert (found.id, found.line) == (code.id, 3)
    assert all(f"<{name}>" in found.message + found.fix for name in names)


def test_every_code_is_in_one_chapter() -> None:
    """The chapters list each code once, and the entries follow them in the same order."""
    listed = [code.id for chapter in chapters().values() for code in chapter]
    assert sorted(listed) == sorted(CATALOGUE)
    assert list(tomllib.loads(catalogue_text())["codes"]) == listed


def test_also_names_known_codes() -> None:
    """`also` lists other documents' codes, which exist, and never the code itself."""
    assert [
        (code.id, other)
        for code in CODES
        for other in code.also
        if other not in CATALOGUE or other == code.id
    ] == []


def test_severity_follows_the_letter() -> None:
    """E, W and I at the start of a lint rule are its severity."""
    letters = {"E": Severity.ERROR, "W": Severity.WARNING, "I": Severity.INFO}
    for code in CODES:
        if re.fullmatch(r"[EWI][MSRHPTAXC]-P?\d+", code.id):
            assert code.severity is letters[code.id[0]], code.id


def test_numbered_codes_have_labels() -> None:
    """A numbered ID is shown with a few words; any other ID already consists of words."""
    numbered = {code_id for code_id in CATALOGUE if re.fullmatch(r"[A-Z]+-P?\d+", code_id)}
    assert numbered == LABELS.keys()
    assert [label for label in LABELS.values() if not 1 <= len(label.split()) <= 5] == []
    assert CATALOGUE["MB-004"].at().shown_id == "MB-004 (no delta block)"
    assert CATALOGUE["INVALID_JSON"].shown_id == "INVALID_JSON"


def test_stored_diagnostics_of_before_are_shown() -> None:
    """The list of existing items came later; a stored diagnostic does not have it."""
    found = CATALOGUE["UNKNOWN_ITEM"].at(where="predictions", id="H7", suggestion="")
    assert found.message == "`predictions` refers to `H7`, which does not exist."
    listed = CATALOGUE["WT-101"].at(id="T1", other="H7", known=" Hypotheses in v1: H1, H2.")
    assert listed.message.endswith("`H7`, which does not exist. Hypotheses in v1: H1, H2.")


def test_every_code_of_the_documents_is_there() -> None:
    """The numbered rules are complete: no gap in any of the series of the documents."""
    expected = {f"MB-{n:03}" for n in range(1, 13)} | {f"AP-{n:03}" for n in range(1, 11)}
    lint = (
        "EM-4 WM-2 IM-2 ES-4 WS-1 ER-2 WR-1 IR-1 EH-4 WH-3 IH-1 EP-3 WP-2 IP-1 ET-3 WT-3 IT-2 "
        "EA-3 WA-3 IA-1 EX-2 WX-2 IX-1 EC-2 WC-2 IC-1"
    )
    for series in lint.split():
        prefix, last = series.split("-")
        expected |= {f"{prefix}-{n:03}" for n in range(1, int(last) + 1)}
    expected |= {"EP-P01", "WP-P01", "WP-P02", "WS-101", "WS-102", "WS-103"}
    expected |= {"WP-101", "WT-101", "WA-101"}
    expected |= {"INVALID_BEAD_ID", "INVALID_RS_THREAD_ID", "INVALID_COORD_THREAD_ID"}
    expected |= {"INVALID_SUBJECT_PREFIX", "EMPTY_SUBJECT_DESCRIPTION", "SUBJECT_TOO_LONG"}
    expected |= {"INVALID_TARGET", "TARGET_KILLED", "SECTION_LIMIT_EXCEEDED"}
    expected |= {"MISSING_REQUIRED_FIELD", "NO_THIRD_ALTERNATIVE", "NO_SCALE_CHECK"}
    expected |= {"BELOW_MINIMUM", "UNKNOWN_AGENT", "ACK_MISMATCH", "AMBIGUOUS_ID", "UNKNOWN_ITEM"}
    expected |= {"DEPENDS_ON_REFUSED", "NO_KICKOFF"}
    assert expected <= CATALOGUE.keys()


def test_finding_a_code() -> None:
    """Case and the kind of dash do not matter; a misspelling gets the nearest code."""
    assert find_code("mb_004") is CATALOGUE["MB-004"]
    assert find_code("invalid-json") is CATALOGUE["INVALID_JSON"]
    assert find_code("MB-04") is None
    assert closest_code("MB-04") == "MB-004"
    assert closest_code("INVALID_JSN") == "INVALID_JSON"
    assert closest_code("xyzzy") is None


def test_templates_show_parameters_but_no_optional_sentence() -> None:
    template = "`{id}` {reason}.{known} See `{id}.{label}`."
    assert template_text(template) == "`<id>` <reason>. See `<id>.<label>`."
