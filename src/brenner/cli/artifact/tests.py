"""`brenner artifact tests`: which test next, by expected information (R32)."""

from __future__ import annotations

import re
import sys
from collections import Counter
from typing import TYPE_CHECKING, TextIO

import click

from brenner.artifact.evidence import evidence_matrix
from brenner.artifact.model import SCORE_LABELS, list_active
from brenner.artifact.next_test import (
    DECLARED,
    NextTests,
    Priors,
    RankedTest,
    next_tests,
    pairs_text,
)
from brenner.cli.artifact.common import (
    BOLD,
    DIM,
    INDENT,
    ORIGIN_DEFAULTS,
    ArtifactReader,
    LoadedArtifact,
    display_name,
    join_target,
    notes_json,
    read_file,
    write_unreadable,
)
from brenner.cli.io import STANDARD_INPUT
from brenner.cli.options import EXIT_OK, Settings, common_options, examples
from brenner.cli.output import JsonCommand, write_diagnostics, write_json
from brenner.cli.table import DisplayRow, TableColumn, table
from brenner.cli.terminal import Span, fold, format_hint, pager_option, write_lines
from brenner.diagnostics.codes import artifacts as codes
from brenner.diagnostics.model import Code, Diagnostic, RequestError
from brenner.lazy_pattern import lazy_pattern
from brenner.named_tuple import NamedTuple
from brenner.protocol.delta.schema import (
    DISCRIMINATIVE_TESTS,
    HYPOTHESIS_SLATE,
    MOST_SCORE,
    SCORE_PARTS,
    Section,
)
from brenner.text import escape_control, plural

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from brenner.artifact.model import Artifact


# The keys that the document always has, with their values if there is no artifact
JSON_DEFAULTS: dict[str, object] = {
    **ORIGIN_DEFAULTS,
    "hypotheses": [],
    "reliability": None,
    "max_bits": None,
    "tests": [],
    "separating_set": [],
    "separating_set_basis": None,
    "separating_set_method": None,
    "unseparated": [],
    "worded_differently": [],
}


@click.command(
    "tests",
    cls=JsonCommand,
    json_defaults=JSON_DEFAULTS,
    epilog=examples(
        "brenner artifact tests RS-20251230-cell-fate",
        "brenner artifact tests RS-20251230-cell-fate@v2 --prior H1=2 --reliability 0.9",
        "brenner artifact tests v2 --priors priors.toml",
    ),
)
@click.argument("target", required=False, metavar="[TARGET]")
@click.argument("version", required=False, metavar="[vN]")
@click.option("--prior", multiple=True, metavar="ID=WEIGHT", help="Weight of a hypothesis: H1=2.")
@click.option("--reliability", metavar="R", help="Chance that a readout is right (default: 1).")
@click.option("--priors", metavar="FILE", help="Read weights and reliabilities from a TOML file.")
@pager_option
@common_options
def tests(  # noqa: PLR0913  (one parameter per option)
    settings: Settings,
    *,
    target: str | None,
    version: str | None,
    prior: tuple[str, ...],
    reliability: str | None,
    priors: str | None,
    pager: bool,
) -> int:
    """List the active tests, the one that is expected to tell most first.

    TARGET is a THREAD (its latest version), THREAD@vN, a file, or -. It is optional if only one
    session is open. The figures are bits of information about which active hypothesis is right.
    Hypotheses have equal weights unless you give priors. Nothing in the artifact changes.
    """
    if target == priors == STANDARD_INPUT:
        message = "The standard input can be read only once."
        raise click.UsageError(message)
    name, _ = join_target(target, version)
    with ArtifactReader(settings) as reader:
        loaded = reader.read(name)
    if isinstance(loaded, Diagnostic):
        return write_unreadable(loaded, name, as_json=settings.as_json)
    text = read_file(priors) if priors is not None else ""
    if isinstance(text, Diagnostic):
        return write_unreadable(text, priors or "", as_json=settings.as_json)
    inputs = _inputs(text, display_name(priors or ""), prior, reliability)
    found = next_tests(evidence_matrix(loaded.artifact), _checked(loaded.artifact, inputs))
    if settings.as_json:
        write_json(_document(loaded, found))
    else:
        write_diagnostics(loaded.diagnostics, loaded.name, sys.stderr)
        write_lines(_lines(loaded, found, sys.stdout), pager=pager)
    return EXIT_OK


# The operator's priors: a file, and options that take precedence


class _Input(NamedTuple):
    """A number as it was given: for an item, or as the reliability of all other tests.

    `place` says where it was given, `form` how it is written there.
    """

    item_id: str
    value: object
    given: str
    place: str = ""
    form: str = ""


class _Inputs(NamedTuple):
    weights: tuple[_Input, ...]
    reliabilities: tuple[_Input, ...]


_TABLES = ("priors", "reliability")
_NUMBER = lazy_pattern(r"[+-]?[0-9]+(\.[0-9]*)?(e[+-]?[0-9]+)?|[+-]?\.[0-9]+", re.IGNORECASE)
_MOST_WEIGHT = 1_000_000_000
_EXAMPLE_WEIGHT, _EXAMPLE_RELIABILITY = "2", "0.9"


def _inputs(text: str, path: str, prior: Iterable[str], reliability: str | None) -> _Inputs:
    weights, reliabilities = _file_inputs(text, path)
    given = [_prior_input(each) for each in prior]
    if reliability is not None:
        form = "`--reliability {value}`"
        reliabilities = (_Input("", _number(reliability), reliability, "", form), *reliabilities)
    return _Inputs((*weights, *given), reliabilities)


def _prior_input(given: str) -> _Input:
    name, _, value = given.partition("=")
    return _Input(name.strip().upper(), _number(value), given, "", "`--prior {item}={value}`")


def _number(text: str) -> object:
    """Return the number in ASCII digits, or the text if it is none."""
    return float(text) if _NUMBER.fullmatch(text.strip()) else text


def _file_inputs(text: str, path: str) -> _Inputs:
    import tomllib  # only with a file

    from brenner.config import toml_fault

    try:
        tables = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        reason, line = toml_fault(text, error)
        found = codes.INVALID_PRIORS_FILE.at(line, path=escape_control(path), reason=reason)
        raise RequestError(found) from None
    for name, table_ in tables.items():
        reason = f"`{escape_control(name)}` is not one of its tables" if name not in _TABLES else ""
        reason = reason or ("" if isinstance(table_, dict) else f"`{name}` is not a table")
        if reason:
            raise RequestError(
                codes.INVALID_PRIORS_FILE.at(path=escape_control(path), reason=reason)
            )
    return _Inputs(*(tuple(_table_inputs(tables.get(name, {}), name, path)) for name in _TABLES))


def _table_inputs(values: Mapping[str, object], name: str, path: str) -> Iterator[_Input]:
    form = f"`{{item}} = {{value}}` under `[{name}]`"
    for item_id, value in values.items():
        yield _Input(item_id.upper(), value, item_id, f" in {escape_control(path)}", form)


def _checked(artifact: Artifact, inputs: _Inputs) -> Priors:
    """Return the priors. Raise RequestError for the first that cannot be used."""
    for some, code in (
        (inputs.weights, codes.INVALID_PRIOR),
        (inputs.reliabilities, codes.INVALID_RELIABILITY),
    ):
        items = Counter((each.place, each.item_id) for each in some)
        for each in some:
            if items[each.place, each.item_id] > 1:
                reason = f"`{escape_control(each.item_id)}` is given twice"
                raise _refusal(code, each, reason, artifact)
    weights = {each.item_id: _weight(artifact, each) for each in inputs.weights}
    found = {each.item_id: _reliability(artifact, each) for each in inputs.reliabilities}
    return Priors(weights, found.pop("", 1.0), found)


def _weight(artifact: Artifact, given: _Input) -> float:
    reason = _why_not_active(artifact, HYPOTHESIS_SLATE, given.item_id)
    if reason:
        raise _refusal(codes.INVALID_PRIOR, given, reason, artifact)
    value = _as_float(given.value, _MOST_WEIGHT)
    if value is None:
        reason = f"its weight is not a number above 0 and at most {_MOST_WEIGHT:,}"
        raise _refusal(codes.INVALID_PRIOR, given, reason, artifact)
    return value


def _reliability(artifact: Artifact, given: _Input) -> float:
    reason = ""
    if given.item_id:
        reason = _why_not_active(artifact, DISCRIMINATIVE_TESTS, given.item_id)
    value = _as_float(given.value, 1)
    if value is None or reason:
        reason = reason or "it is not a number above 0 and at most 1"
        raise _refusal(codes.INVALID_RELIABILITY, given, reason, artifact)
    return value


def _refusal(code: Code, given: _Input, reason: str, artifact: Artifact) -> RequestError:
    """Return the error with an example that can be used, and the items if the given one cannot."""
    is_prior = code is codes.INVALID_PRIOR
    section = HYPOTHESIS_SLATE if is_prior else DISCRIMINATIVE_TESTS
    active = [each.id for each in artifact.active(section)]
    is_known = given.item_id in active or not (given.item_id or is_prior)
    item = given.item_id if is_known else (active or [f"{section.prefix}1"])[0]
    value = _EXAMPLE_WEIGHT if is_prior else _EXAMPLE_RELIABILITY
    return RequestError(
        code.at(
            given=escape_control(given.given),
            place=given.place,
            reason=reason,
            known="" if is_known else list_active(artifact, section.prefix),
            example=given.form.format(item=item, value=value),
        )
    )


def _why_not_active(artifact: Artifact, section: Section, item_id: str) -> str:
    found = [each for each in artifact.sections[section.id] if each.id == item_id]
    if not found:
        noun = "hypothesis" if section is HYPOTHESIS_SLATE else "test"
        return f"`{escape_control(item_id)}` is not a {noun}" if item_id else "it has no ID"
    return "" if found[0].is_active else f"`{item_id}` is killed"


def _as_float(value: object, most: float) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and 0 < value <= most else None  # type: ignore[operator, arg-type]


# JSON


_DIGITS = 6  # significant digits of a figure


def _figure(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.{_DIGITS}g}")


def _document(loaded: LoadedArtifact, found: NextTests) -> dict[str, object]:
    chosen = found.separating_set
    return {
        **loaded.to_json(),
        "hypotheses": [
            {"id": name, "weight": found.priors.weight(name), "probability": _figure(probability)}
            for name, probability in zip(found.hypotheses, found.probabilities, strict=True)
        ],
        "reliability": found.priors.reliability,
        "max_bits": _figure(found.max_bits),
        "tests": [_test_json(found, test) for test in found.tests],
        "separating_set": list(chosen.tests) if chosen else None,
        "separating_set_basis": chosen.basis if chosen else None,
        "separating_set_method": _method(found),
        "unseparated": list(found.unseparated()),
        "worded_differently": list(found.only_worded_differently()),
        **notes_json([loaded]),
    }


def _test_json(found: NextTests, test: RankedTest) -> dict[str, object]:
    return {
        "id": test.item.id,
        "name": test.item.title,
        "bits": _figure(test.bits),
        "basis": test.basis,
        "reliability": test.reliability,
        "separates": list(found.separated(test)),
        "worded_differently": list(found.worded_differently(test)),
        "outcomes": [
            {"outcome": outcome, "hypotheses": list(members)} for outcome, members in test.groups
        ],
        "no_statement": list(test.silent),
        "cost_usd": test.cost_in_usd,
        "weeks": test.weeks,
        "bits_per_cost": _figure(test.bits_per_usd),
        "bits_per_time": _figure(test.bits_per_week),
        "score": test.score,
        "has_verdict": test.has_verdict,
    }


def _method(found: NextTests) -> str | None:
    if found.separating_set is None:
        return None
    return "exact" if found.separating_set.is_exact else "greedy"


# Text


_COLUMNS = (
    TableColumn("Test"),
    TableColumn("Bits", is_right=True),
    TableColumn("per $1,000", is_right=True),
    TableColumn("per week", is_right=True),
    TableColumn("Score", is_right=True),
    TableColumn("Basis"),
    TableColumn("Name", min_width=12),
)
_PER = 1_000  # dollars


def _lines(loaded: LoadedArtifact, found: NextTests, out: TextIO) -> Iterator[str]:
    hypotheses = plural(len(found.hypotheses), "active hypothesis", "active hypotheses")
    yield fold([], [Span(f"{escape_control(loaded.name)}, {hypotheses}", BOLD)], INDENT, out)
    yield fold([], [Span(_inputs_text(found), DIM)], INDENT, out)
    if not found.tests:
        yield "\n"
        yield format_hint("No active tests. To add one: `brenner new DELTA`", out)
        return
    yield "\n"
    yield from table(_COLUMNS, list(map(_row, found.tests)), out)
    yield "\n"
    for text in _summary(found):
        yield fold([], [Span(text)], INDENT, out)


def _inputs_text(found: NextTests) -> str:
    priors = found.priors
    weights = ", ".join(f"{name} {weight:g}" for name, weight in priors.weights.items())
    others = ", all others 1" if len(priors.weights) < len(found.hypotheses) else ""
    by_test = ", ".join(f"{name} {each:g}" for name, each in priors.reliability_by_test.items())
    reliability = f"{by_test}, all others {priors.reliability:g}" if by_test else ""
    return (
        f"Priors: {f'{weights}{others}' if weights else 'equal'}. "
        f"Reliability of tests: {reliability or f'{priors.reliability:g}'}. "
        f"All hypotheses apart: {found.max_bits:.3f} bits."
    )


def _row(test: RankedTest) -> DisplayRow:
    per_cost = None if test.bits_per_usd is None else test.bits_per_usd * _PER
    score = "" if test.score is None else f"{test.score}/{MOST_SCORE * len(SCORE_PARTS)}"
    cells = (
        [Span(test.item.id, BOLD)],
        [Span("done" if test.has_verdict else f"{test.bits:.3f}")],
        [Span(_figure_text(per_cost))],
        [Span(_figure_text(test.bits_per_week))],
        [Span(score, DIM)],
        [Span(test.basis)],
        [Span(test.item.title)],
    )
    groups = " | ".join(", ".join(members) for _, members in test.groups)
    silent = f"no statement: {', '.join(test.silent)}" if test.silent else ""
    words = "; ".join(filter(None, (groups, silent)))
    return DisplayRow(cells, ([Span(f"{INDENT}{words}", DIM)],) if words else ())


def _figure_text(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"


def _summary(found: NextTests) -> Iterator[str]:
    yield from _separating_words(found)
    same = pairs_text(found.not_distinguished())
    worded = pairs_text(found.only_worded_differently())
    if same:
        yield f"No test separates {same}."
    if worded:
        yield (
            f"Except by wording, no test separates {worded}. To have outcomes compared by key, "
            "declare `outcomes` in the test."
        )
    if not same and not worded and len(found.hypotheses) > 1:
        yield "Declared outcomes separate every two active hypotheses."
    left = [test for test in found.tests if not test.has_verdict]
    if any(None in (test.cost_in_usd, test.weeks) for test in left):
        parts = f"{SCORE_LABELS['cost']} and {SCORE_LABELS['speed']}"
        yield f"Figures per cost and per week need {parts} in the score."


def _separating_words(found: NextTests) -> Iterator[str]:
    chosen = found.separating_set
    if chosen is None:
        yield f"{len(found.hypotheses)} hypotheses are too many to find the smallest set of tests."
    elif chosen.tests:
        tests, basis = ", ".join(chosen.tests), "key" if chosen.basis == DECLARED else "wording"
        size = "Smallest set" if chosen.is_exact else "Set (greedy, perhaps not the smallest)"
        yield f"{size} of tests for all pairs that a test tells apart, by {basis}: {tests}."
    elif any(not test.has_verdict for test in found.tests):
        yield "No test without a verdict tells any two hypotheses apart."
