"""The artifact of a thread as frozen values, and its layout: headings, labels, limits and order.

An empty field is absent: no blank text, no false flag, no empty list or map. So two artifacts with
the same content are equal. `make_fields` builds such a mapping from any values. Items are stored in
the order of their numbers; `in_display_order` ranks tests by score.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, cast

from brenner.named_tuple import NamedTuple
from brenner.protocol.delta.field_checks import is_blank
from brenner.protocol.delta.schema import (
    ADVERSARIAL_CRITIQUE,
    ANOMALY_REGISTER,
    ASSUMPTION_LEDGER,
    DISCRIMINATIVE_TESTS,
    HYPOTHESIS_SLATE,
    POTENCY_FAILED,
    PREDICTIONS_TABLE,
    RESEARCH_THREAD,
    SCORE_PARTS,
    SECTIONS,
    Section,
    list_items,
)
from brenner.protocol.grammar import ITEM_ID

JSON = None | bool | int | float | str | list["JSON"] | dict[str, "JSON"]


class Reference(NamedTuple):
    """A reference from an item to the item it comes from, perhaps in another session."""

    session: str
    item: str
    relation: str

    def __str__(self) -> str:
        return f"{self.relation} {self.session} {self.item}"


class KillRecord(NamedTuple):
    """The agent that killed an item, the time (ISO 8601), and the reason."""

    agent: str
    at: str
    reason: str


class Result(NamedTuple):
    """What a test showed (R26). A result without evidence is a claim.

    `outcome` is a text, or the key of a declared outcome (R27). `derived` means that the merge has
    derived `contradicts` and `supports` from the expected outcomes at that moment.
    """

    outcome: str
    potency: str
    contradicts: tuple[str, ...] = ()
    supports: tuple[str, ...] = ()
    observed_at: str | None = None
    evidence: tuple[str, ...] = ()
    note: str | None = None
    derived: bool = False

    def __str__(self) -> str:
        """Return the result as one line for people."""
        parts = (
            ("contradicts", ", ".join(self.contradicts)),
            ("supports", ", ".join(self.supports)),
            ("verdict", "derived" if self.derived else ""),
            ("observed", self.observed_at),
            ("evidence", ", ".join(self.evidence) or "claimed"),
            ("note", self.note),
        )
        words = [self.outcome, f"potency {self.potency}"]
        return "; ".join([*words, *(f"{name} {text}" for name, text in parts if text)])

    @property
    def has_verdict(self) -> bool:
        """Return whether the result says anything about a hypothesis.

        It says nothing if the potency check failed.
        """
        return self.potency != POTENCY_FAILED and bool(self.contradicts or self.supports)

    def without_verdict(self) -> Result:
        """Return the result as observed, without what it means for hypotheses."""
        return self._replace(contradicts=(), supports=(), derived=False)


# The value of a field, by its kind: text and choice; flag; anchors and items; references; results;
# outcomes by hypothesis and their descriptions; the parts of a score.
Value = (
    str
    | bool
    | tuple[str, ...]
    | tuple[Reference, ...]
    | tuple[Result, ...]
    | Mapping[str, str]
    | Mapping[str, int]
)
Fields = Mapping[str, Value]
NO_FIELDS: Fields = MappingProxyType({})
NO_JSON: Mapping[str, JSON] = MappingProxyType({})


class Item(NamedTuple):
    """One item. Its ID is a prefix and a number; in a file written by hand it can be any word."""

    id: str
    fields: Fields = NO_FIELDS
    killed: KillRecord | None = None

    @property
    def is_active(self) -> bool:
        return self.killed is None

    @property
    def title(self) -> str:
        """Return the item's name, or a prediction's condition, or else its ID."""
        called = self.fields.get("name") or self.fields.get("condition") or self.id
        return str(called)

    def text(self, name: str) -> str:
        """Return a text field, or an empty text if the field is absent."""
        value = self.fields.get(name, "")
        return value if isinstance(value, str) else ""

    def listed(self, name: str) -> tuple[str, ...]:
        """Return a field that is a list of texts, or an empty tuple if the field is absent."""
        return cast("tuple[str, ...]", self.fields.get(name, ()))

    def mapped(self, name: str) -> Mapping[str, str]:
        """Return a field that maps names to texts, or an empty map if it is absent."""
        return cast("Mapping[str, str]", self.fields.get(name) or NO_FIELDS)

    @property
    def score(self) -> Mapping[str, int]:
        """Return the parts of a test's score that are present."""
        return cast("Mapping[str, int]", self.fields.get("score") or NO_FIELDS)

    @property
    def references(self) -> tuple[Reference, ...]:
        return cast("tuple[Reference, ...]", self.fields.get("references", ()))

    @property
    def results(self) -> tuple[Result, ...]:
        """Return the results of a test, in the order in which they were recorded."""
        return cast("tuple[Result, ...]", self.fields.get("results", ()))


class Metadata(NamedTuple):
    """The front matter: the fields of the publish document and of the companion together (R18).

    Times are ISO 8601 text. `extra` contains the keys of other programs that we do not know.
    """

    session_id: str | None = None
    version: int | None = None
    created_at: str | None = None
    updated_at: str | None = None
    compiled_at: str | None = None
    compiled_by: str | None = None
    status: str | None = None
    contributors: tuple[str, ...] = ()
    agent_mail_message_id: int | None = None
    roster: Mapping[str, JSON] = NO_JSON
    research_program: Mapping[str, JSON] = NO_JSON
    extra: Mapping[str, JSON] = NO_JSON

    @property
    def agents(self) -> tuple[str, ...]:
        """Return the agent names in the session's roster, in order. Ignore malformed entries."""
        entries = self.roster.get("entries")
        listed = entries if isinstance(entries, list) else []
        names = [entry.get("agentName") for entry in listed if isinstance(entry, Mapping)]
        return tuple(name for name in names if isinstance(name, str))


ITEM_SECTIONS: tuple[Section, ...] = tuple(
    section for section in SECTIONS.values() if section is not RESEARCH_THREAD
)
NO_ITEMS: Mapping[str, tuple[Item, ...]] = MappingProxyType(
    {section.id: () for section in ITEM_SECTIONS}
)
NO_RESEARCH_THREAD = Item(RESEARCH_THREAD.prefix)


class Artifact(NamedTuple):
    """Metadata, the research thread, and the items of the six other sections by section ID."""

    metadata: Metadata
    research_thread: Item = NO_RESEARCH_THREAD
    sections: Mapping[str, tuple[Item, ...]] = NO_ITEMS

    def active(self, section: Section) -> tuple[Item, ...]:
        """Return the items of a section that are not killed."""
        return tuple(item for item in self.sections[section.id] if item.killed is None)

    def all_items(self) -> Iterator[tuple[Section, Item]]:
        """Yield the research thread, then every item, in the order of the sections."""
        yield RESEARCH_THREAD, self.research_thread
        for section in ITEM_SECTIONS:
            for item in self.sections[section.id]:
                yield section, item


def list_active(artifact: Artifact, wanted: str, *, are_named: bool = True) -> str:
    """Return a sentence that lists the active items of the kind that an unknown ID names."""
    section = next((each for each in ITEM_SECTIONS if each.prefix == wanted[:1].upper()), None)
    if section is None:
        return ""
    items = artifact.active(section)
    titles = {item.id: item.title for item in items} if are_named else {}
    version = artifact.metadata.version
    where = f"in v{version}" if version else "in the artifact"
    return list_items(section.prefix, [item.id for item in items], where, titles)


def make_fields(values: Mapping[str, object]) -> Fields:
    """Build the fields of an item from lists, plain maps and other values. Leave out empty ones."""
    return MappingProxyType({name: freeze(v) for name, v in values.items() if has_content(v)})


def uses_new_fields(artifact: Artifact) -> bool:
    """Return whether an artifact has content that only the newest record format knows (R26)."""
    return any(
        not section.new_keys.isdisjoint(item.fields)
        for section, item in artifact.all_items()
        if section.new_keys
    )


def has_content(value: object) -> bool:
    """Return whether a field with this value is present at all."""
    return value is not None and value is not False and bool(value) and not is_blank(value)


def freeze(value: object) -> Value:
    """Return an immutable copy of a value."""
    if type(value) is str or type(value) is bool:
        return value
    if isinstance(value, Mapping):
        return MappingProxyType(dict(value))
    if isinstance(value, list | tuple):
        return tuple(map(freeze_element, value))
    raise TypeError(type(value).__name__)


def freeze_element(element: Any) -> Any:
    """Return an element of a list in its frozen form: an object is a reference or a result."""
    if not isinstance(element, dict):
        return element
    if "relation" in element:
        return Reference(**element)
    lists = ("contradicts", "supports", "evidence")
    return Result(**element | {name: tuple(element.get(name) or ()) for name in lists})


_AFTER_ALL_NUMBERS = 1 << 40


def item_sort_key(item_id: str) -> tuple[int, str]:
    """Return the sort key of an item ID: by number. IDs without a number come last, by text."""
    match = ITEM_ID.fullmatch(item_id)
    return (int(match[2] or 0), "") if match else (_AFTER_ALL_NUMBERS, item_id)


# The layout of the artifact: headings, labels and their order, limits (companion, 1)

TITLE = "Brenner Protocol Artifact"
NONE_REGISTERED = "None registered"
NOT_APPLICABLE = "N/A"
MAX_ACTIVE_HYPOTHESES = 6
KILLED_BY, REASON = "Killed by", "Reason"
OUTCOMES, REFERENCES = "Outcomes", "References"


class SectionLayout(NamedTuple):
    """The heading of a section, the label of each field in order, and the fewest items."""

    section: Section
    heading: str
    labels: dict[str, str]
    least: int


LAYOUT = (
    SectionLayout(
        RESEARCH_THREAD,
        "1. Research Thread",
        {
            "statement": "RT",
            "context": "Context",
            "why_it_matters": "Why it matters",
            "anchors": "Anchors",
            "conclusion": "Conclusion",
        },
        1,
    ),
    SectionLayout(
        HYPOTHESIS_SLATE,
        "2. Hypothesis Slate",
        {
            "claim": "Claim",
            "mechanism": "Mechanism",
            "how_this_could_be_true": "How this could be true",
            "anchors": "Anchors",
            "third_alternative": "Third alternative",
            "references": REFERENCES,
        },
        3,
    ),
    SectionLayout(
        PREDICTIONS_TABLE,
        "3. Predictions Table",
        {"outcomes": OUTCOMES, "references": REFERENCES},
        3,
    ),
    SectionLayout(
        DISCRIMINATIVE_TESTS,
        "4. Discriminative Tests",
        {
            "procedure": "Procedure",
            "discriminates": "Discriminates",
            "expected_outcomes": "Expected outcomes",
            "outcomes": OUTCOMES,
            "potency_check": "Potency check",
            "feasibility": "Feasibility",
            "score": "Evidence-per-week score",
            "results": "Results",
            "references": REFERENCES,
        },
        2,
    ),
    SectionLayout(
        ASSUMPTION_LEDGER,
        "5. Assumption Ledger",
        {
            "statement": "Statement",
            "load": "Load",
            "test": "Test",
            "calculation": "Calculation",
            "implication": "Implication",
            "status": "Status",
            "scale_check": "Scale check",
            "references": REFERENCES,
        },
        3,
    ),
    SectionLayout(
        ANOMALY_REGISTER,
        "6. Anomaly Register",
        {
            "observation": "Observation",
            "conflicts_with": "Conflicts with",
            "status": "Quarantine status",
            "resolution_plan": "Resolution plan",
            "references": REFERENCES,
        },
        0,
    ),
    SectionLayout(
        ADVERSARIAL_CRITIQUE,
        "7. Adversarial Critique",
        {
            "attack": "Attack",
            "evidence": "Evidence",
            "why_it_might_be_right": "Why it might be right",
            "current_status": "Current status",
            "real_third_alternative": "Real third alternative",
            "references": REFERENCES,
        },
        2,
    ),
)
LAYOUT_BY_SECTION = {layout.section.id: layout for layout in LAYOUT}
# **Evidence-per-week score**: `LR=3, Cost=2, Speed=2, Ambiguity=3`
SCORE_LABELS = dict(zip(SCORE_PARTS, ("LR", "Cost", "Speed", "Ambiguity"), strict=True))
ID_COLUMN, CONDITION_COLUMN = "ID", "Observation/Condition"


def prediction_columns(artifact: Artifact) -> list[str]:
    """Return all hypotheses, killed ones included, and all other keys of the rows, by number."""
    names = {item.id for item in artifact.sections[HYPOTHESIS_SLATE.id]}
    rows = artifact.sections[PREDICTIONS_TABLE.id]
    names.update(*(row.mapped("predictions") for row in rows))
    return sorted(names - {""}, key=item_sort_key)


# Display order: tests by score, all others by number (R14)


def total_score(test: Item) -> int:
    """Return the sum of the score's parts, or -1 if it has none."""
    return sum(test.score.values()) if test.score else -1


def _score_sort_key(test: Item) -> tuple[int, tuple[int, str]]:
    """Sort by descending score, tests without a score last, then by number."""
    return (-total_score(test), item_sort_key(test.id))


def in_display_order(section: Section, items: Iterable[Item]) -> list[Item]:
    """Return the items of a section in the order in which they are shown."""
    if section is DISCRIMINATIVE_TESTS:
        return sorted(items, key=_score_sort_key)
    return list(items)
