"""The schema of deltas: artifact sections and their payload fields, and the delta types.

Section IDs, prefixes and payload fields are those of delta_output_format ("Valid Section Values",
"Payload Schemas by Section") and of the companion ("Fields beyond the payload schemas"). The
required fields of an ADD are "Empty Payload on ADD" of the former.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from brenner.diagnostics.model import are_fixable
from brenner.named_tuple import NamedTuple
from brenner.protocol.grammar import ITEM_ID
from brenner.text import cut

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from brenner.diagnostics.model import Diagnostic
    from brenner.markdown.blocks import Block
    from brenner.markdown.edits import TextEdit


class Operation(StrEnum):
    """The operation of a delta on the artifact."""

    ADD = "ADD"
    EDIT = "EDIT"
    KILL = "KILL"


# Bound once: looking a member up in its Enum takes longer than comparing with it.
ADD, EDIT, KILL = Operation


class FieldKind(StrEnum):
    """The type of a payload field; each has its own check in `validate`."""

    TEXT = "text"
    FLAG = "flag"
    CHOICE = "choice"
    ANCHORS = "anchors"
    ITEMS = "items"
    OUTCOMES = "outcomes"
    SCORE = "score"
    REFERENCES = "references"
    DESCRIPTIONS = "descriptions"
    RESULTS = "results"


LIST_KINDS = frozenset(
    {FieldKind.ANCHORS, FieldKind.ITEMS, FieldKind.REFERENCES, FieldKind.RESULTS}
)
MAP_KINDS = frozenset({FieldKind.OUTCOMES, FieldKind.SCORE, FieldKind.DESCRIPTIONS})
COLLECTION_KINDS = LIST_KINDS | MAP_KINDS  # R13: these have a `{field}_replace` flag


# The newest format of records (R10, R26). A version of an older format is rebuilt with the fields
# of that format, so that it stays the same whatever fields are added later.
RECORD_FORMAT = 2


class Field(NamedTuple):
    """One payload field of a section; `holds` describes its content.

    `since` is the record format that introduced the field. Only the operator may set an
    `operator_only` field.
    """

    name: str
    kind: FieldKind
    holds: str
    required: bool = False
    choices: tuple[str, ...] = ()
    names_items: bool = False  # a text that refers to items by their IDs
    since: int = 1
    operator_only: bool = False

    @property
    def asks(self) -> str:
        """What the author has to write."""
        return f"{self.holds}: {', '.join(self.choices)}" if self.choices else self.holds


class Section:
    """One section of the artifact. Sections are compared by identity."""

    def __init__(self, section_id: str, prefix: str, *fields: Field) -> None:
        self.id = section_id
        self.prefix = prefix
        self.fields = {field.name: field for field in fields}
        self.required = frozenset(field.name for field in fields if field.required)
        self.texts = frozenset(field.name for field in fields if field.kind is FieldKind.TEXT)
        self.replace_flags = frozenset(
            ["replace", *(f"{f.name}_replace" for f in fields if f.kind in COLLECTION_KINDS)]
        )
        self.new_keys = frozenset(
            key
            for field in fields
            if field.since > 1
            for key in (field.name, f"{field.name}_replace")
        )
        self.example_id = "RT" if prefix == "RT" else f"{prefix}1"
        self._in_first_format = (
            Section(section_id, prefix, *(each for each in fields if each.since == 1))
            if self.new_keys
            else self
        )

    def in_format(self, record_format: int) -> Section:
        """Return the section with the fields that this record format knows."""
        return self if record_format >= RECORD_FORMAT else self._in_first_format

    def is_valid_id(self, item_id: str) -> bool:
        """Return whether an ID is the section's prefix and a number, or `RT`."""
        match = ITEM_ID.fullmatch(item_id)
        return match is not None and (match[1] or RESEARCH_THREAD.prefix) == self.prefix

    def __repr__(self) -> str:
        """Return a short form with the section's ID."""
        return f"<Section {self.id}>"


_TEXT, _FLAG, _CHOICE = FieldKind.TEXT, FieldKind.FLAG, FieldKind.CHOICE
_ANCHORS, _ITEMS, _OUTCOMES = FieldKind.ANCHORS, FieldKind.ITEMS, FieldKind.OUTCOMES
_REFERENCES = Field("references", FieldKind.REFERENCES, "items of other sessions")
_DECLARED = Field(
    "outcomes", FieldKind.DESCRIPTIONS, "the possible outcomes, each under a short key", since=2
)

RESEARCH_THREAD = Section(
    "research_thread",
    "RT",
    Field("statement", _TEXT, "the question, one falsifiable sentence", required=True),
    Field("context", _TEXT, "the background"),
    Field("why_it_matters", _TEXT, "what depends on the answer"),
    Field("anchors", _ANCHORS, "where it comes from"),
    Field("conclusion", _TEXT, "the answer, by the operator", since=2, operator_only=True),
)
HYPOTHESIS_SLATE = Section(
    "hypothesis_slate",
    "H",
    Field("name", _TEXT, "short name", required=True),
    Field("claim", _TEXT, "one-sentence claim", required=True),
    Field("mechanism", _TEXT, "how it works", required=True),
    Field("anchors", _ANCHORS, 'a list such as ["§42", "inference"]', required=True),
    Field("third_alternative", _FLAG, "whether it is the third alternative"),
    Field("how_this_could_be_true", _TEXT, "what would have to be true"),
    _REFERENCES,
)
PREDICTIONS_TABLE = Section(
    "predictions_table",
    "P",
    Field("condition", _TEXT, "observable condition", required=True),
    Field("predictions", _OUTCOMES, "outcome under each hypothesis", required=True),
    _DECLARED,
    _REFERENCES,
)
DISCRIMINATIVE_TESTS = Section(
    "discriminative_tests",
    "T",
    Field("name", _TEXT, "test name", required=True),
    Field("procedure", _TEXT, "what you do", required=True),
    Field("discriminates", _TEXT, "H1 vs H2", required=True, names_items=True),
    Field("expected_outcomes", _OUTCOMES, "outcome under each hypothesis", required=True),
    _DECLARED,
    Field("potency_check", _TEXT, "how you verify that the assay worked"),
    Field("feasibility", _TEXT, "what it needs"),
    Field("score", FieldKind.SCORE, "four numbers from 0 to 3"),
    Field("results", FieldKind.RESULTS, "what the test showed", since=2),
    _REFERENCES,
)
FALSIFIED = "falsified"  # the status of an assumption that turned out false
ASSUMPTION_LEDGER = Section(
    "assumption_ledger",
    "A",
    Field("name", _TEXT, "assumption name", required=True),
    Field("statement", _TEXT, "what we assume", required=True),
    Field("load", _TEXT, "what breaks if it is wrong", required=True),
    Field("test", _TEXT, "how to check it", required=True),
    Field("status", _CHOICE, "its status", True, ("unchecked", "verified", FALSIFIED)),
    Field("scale_check", _FLAG, "whether it is a scale or physics check"),
    Field("calculation", _TEXT, "the numbers"),
    Field("implication", _TEXT, "what follows from them"),
    _REFERENCES,
)
ANOMALY_REGISTER = Section(
    "anomaly_register",
    "X",
    Field("name", _TEXT, "anomaly name", required=True),
    Field("observation", _TEXT, "what was observed", required=True),
    Field("conflicts_with", _ITEMS, "the items it conflicts with", required=True),
    Field("status", _CHOICE, "its status", True, ("active", "resolved", "deferred")),
    Field("resolution_plan", _TEXT, "how to resolve it"),
    _REFERENCES,
)
ADVERSARIAL_CRITIQUE = Section(
    "adversarial_critique",
    "C",
    Field("name", _TEXT, "critique name", required=True),
    Field("attack", _TEXT, "how the framing could be wrong", required=True),
    Field("evidence", _TEXT, "what would confirm it", required=True),
    Field("current_status", _TEXT, "how seriously we take it", required=True),
    Field("real_third_alternative", _FLAG, "whether it is a real third alternative"),
    Field("why_it_might_be_right", _TEXT, "what supports it"),
    _REFERENCES,
)

SECTIONS = {
    section.id: section
    for section in (
        RESEARCH_THREAD,
        HYPOTHESIS_SLATE,
        PREDICTIONS_TABLE,
        DISCRIMINATIVE_TESTS,
        ASSUMPTION_LEDGER,
        ANOMALY_REGISTER,
        ADVERSARIAL_CRITIQUE,
    )
}
ITEM_NAMES = {
    HYPOTHESIS_SLATE.prefix: "Hypotheses",
    PREDICTIONS_TABLE.prefix: "Predictions",
    DISCRIMINATIVE_TESTS.prefix: "Tests",
    ASSUMPTION_LEDGER.prefix: "Assumptions",
    ANOMALY_REGISTER.prefix: "Anomalies",
    ADVERSARIAL_CRITIQUE.prefix: "Critiques",
}
_MOST_LISTED = 12
_LONGEST_TITLE, _LONGEST_LIST = 30, 160  # a parameter of a message is cut at 240 characters


def list_items(
    prefix: str, ids: Sequence[str], where: str, titles: Mapping[str, str] | None = None
) -> str:
    """Return a sentence that lists items with this prefix, to show beside an ID that is unknown.

    A wrong number says nothing about the right one, so no item is suggested.
    """
    name = ITEM_NAMES.get(prefix)
    if name is None:
        return ""
    if not ids:
        return f" There are no {name.lower()} {where}."
    listed, length = [], 0
    for item_id in ids[:_MOST_LISTED]:
        title = cut((titles or {}).get(item_id, ""), _LONGEST_TITLE)
        listed.append(f"{item_id} {title}".strip())
        length += len(listed[-1]) + 2
        if length > _LONGEST_LIST:
            break
    more = ", …" if len(ids) > len(listed) else ""
    return f" {name} {where}: {', '.join(listed)}{more}."


# delta_output_format, Failure Mode 2: authors' other names of the sections
SECTION_ALIASES = {
    "hypotheses": "hypothesis_slate",
    "hypothesis": "hypothesis_slate",
    "predictions": "predictions_table",
    "prediction": "predictions_table",
    "tests": "discriminative_tests",
    "test": "discriminative_tests",
    "assumptions": "assumption_ledger",
    "assumption": "assumption_ledger",
    "anomalies": "anomaly_register",
    "anomaly": "anomaly_register",
    "critiques": "adversarial_critique",
    "critique": "adversarial_critique",
}
SCORE_PARTS = ("likelihood_ratio", "cost", "speed", "ambiguity")
MOST_SCORE = 3
REFERENCE_FIELDS = ("session", "item", "relation")
RELATIONS = ("extends", "refines", "refutes", "informed_by", "supersedes", "replicates")
# A result of a test (R26). The text of `outcome` may be the key of a declared outcome (R27).
POTENCY_PASSED, POTENCY_FAILED = "passed", "failed"
POTENCIES = (POTENCY_PASSED, POTENCY_FAILED, "not_checked")
RESULT_ASKS = {
    "outcome": "what was observed, or the key of a declared outcome",
    "potency": "whether the potency check succeeded: `passed`, `failed` or `not_checked`",
}
VERDICT_FIELDS = ("contradicts", "supports")  # IDs of hypotheses
RESULT_FIELDS = (*RESULT_ASKS, *VERDICT_FIELDS, "observed_at", "evidence", "note")
# The field of each section that maps hypotheses to outcomes
OUTCOME_FIELDS: Mapping[Section, str] = {
    PREDICTIONS_TABLE: "predictions",
    DISCRIMINATIVE_TESTS: "expected_outcomes",
}
NO_STATEMENT = frozenset({"n/a", "indeterminate"})  # R27: these outcomes predict nothing


def undeclared_outcomes(
    declared: Mapping[str, str], stated: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """Yield the hypotheses whose outcome is not a declared key, with that outcome (R27)."""
    for hypothesis, outcome in stated.items():
        if outcome not in declared and outcome.strip().casefold() not in NO_STATEMENT:
            yield hypothesis, outcome


TOP_LEVEL_KEYS = frozenset(
    {"operation", "section", "target_id", "payload", "rationale", "local_id"}
)


# Finding a section by its ID, its heading or another name


_LONGEST_SECTION_NAME = 100  # longer than any heading of ours


def section_by_name(written: str) -> Section | None:
    """Return the section for `## 2. Hypothesis Slate`, `Hypothesis-Slate:` or `hypotheses`."""
    if len(written) > _LONGEST_SECTION_NAME:
        return None
    words = written.strip().lstrip("#").strip().rstrip(":").split()
    if len(words) > 1 and _is_number(words[0]):
        del words[0]
    folded = "_".join(words).lower().replace("-", "_")
    return SECTIONS.get(SECTION_ALIASES.get(folded, folded))


def _is_number(word: str) -> bool:
    digits = word.removesuffix(".")
    return digits.isascii() and digits.isdigit()


# Deltas and delta blocks


class Delta(NamedTuple):
    """One valid operation.

    `payload` contains known fields only, as JSON values, and must not be changed. It may also
    contain `replace` and `{field}_replace`, which control the merge and are never stored (R13).
    `target_id` is an item ID or an `@name` (R11), and None for an ADD.
    """

    operation: Operation
    section: str
    target_id: str | None
    payload: Mapping[str, object]
    rationale: str
    local_id: str | None = None


class DeltaBlock(NamedTuple):
    """A delta block and the result of parsing it.

    `value` is its JSON as written, as far as it is readable; `delta` is None if the block is
    refused. `edits` are the certain corrections, as edits of the fence's content. `structure` are
    those that change where blocks begin and end. A diagnostic that they remove is `fixable`.
    """

    number: int
    fence: Block
    value: object = None
    delta: Delta | None = None
    diagnostics: tuple[Diagnostic, ...] = ()
    edits: tuple[TextEdit, ...] = ()
    structure: tuple[TextEdit, ...] = ()

    @property
    def is_fixable(self) -> bool:
        """Whether the certain corrections fix every error of a refused block."""
        return self.delta is None and are_fixable(self.diagnostics)

    @property
    def line(self) -> int:
        """The line of the opening fence in the body."""
        return self.fence.line

    def written(self, key: str) -> str | None:
        """Return the value of a top-level key as written, if it is a string."""
        content = self.value.get(key) if isinstance(self.value, dict) else None
        return content if isinstance(content, str) else None

    def refused(self, diagnostic: Diagnostic) -> DeltaBlock:
        """Return the block, refused for one more reason."""
        return self._replace(delta=None, diagnostics=(*self.diagnostics, diagnostic))
