"""The artifact: one document per thread, as frozen values.

A field that says nothing is not there: no blank text, no flag that is false, no empty list or map.
So two artifacts that read the same are equal. `fields` builds such a mapping from any values.
Items stand in the order of their numbers; how tests are ranked is a matter of showing them.
"""

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple, cast

from brenner.protocol.delta.schema import (
    ADVERSARIAL_CRITIQUE,
    ANOMALY_REGISTER,
    ASSUMPTION_LEDGER,
    DISCRIMINATIVE_TESTS,
    HYPOTHESIS_SLATE,
    PREDICTIONS_TABLE,
    RESEARCH_THREAD,
    SCORE_PARTS,
    SECTIONS,
    Section,
)
from brenner.protocol.delta.validate import is_blank
from brenner.protocol.grammar import ITEM_ID

JSON = None | bool | int | float | str | list["JSON"] | dict[str, "JSON"]


class Reference(NamedTuple):
    """That an item comes from another one, perhaps of another session."""

    session: str
    item: str
    relation: str


class Killed(NamedTuple):
    """Who killed an item, when (ISO 8601), and why."""

    agent: str
    at: str
    reason: str


# What a field holds, by its kind: text and choice; flag; anchors and items; references;
# outcomes by hypothesis; the parts of a score.
Value = str | bool | tuple[str, ...] | tuple[Reference, ...] | Mapping[str, str] | Mapping[str, int]
Fields = Mapping[str, Value]
NO_FIELDS: Fields = MappingProxyType({})
NOTHING: Mapping[str, JSON] = MappingProxyType({})


class Item(NamedTuple):
    """One item. Its ID is a prefix and a number; in a file that a person wrote, any word."""

    id: str
    fields: Fields = NO_FIELDS
    killed: Killed | None = None

    @property
    def is_active(self) -> bool:
        """Whether it is not killed."""
        return self.killed is None

    @property
    def title(self) -> str:
        """What people call it: its name, or a prediction's condition, or else its ID."""
        called = self.fields.get("name") or self.fields.get("condition") or self.id
        return str(called)

    def text(self, name: str) -> str:
        """A field that holds text; empty where it is not there."""
        value = self.fields.get(name, "")
        return value if isinstance(value, str) else ""

    def listed(self, name: str) -> tuple[str, ...]:
        """A field that holds a list of texts; empty where it is not there."""
        return cast("tuple[str, ...]", self.fields.get(name, ()))

    def mapped(self, name: str) -> Mapping[str, str]:
        """A field that holds outcomes by hypothesis; empty where it is not there."""
        return cast("Mapping[str, str]", self.fields.get(name) or NO_FIELDS)

    @property
    def score(self) -> Mapping[str, int]:
        """The parts of a test's score that were given."""
        return cast("Mapping[str, int]", self.fields.get("score") or NO_FIELDS)

    @property
    def references(self) -> tuple[Reference, ...]:
        """Where it comes from."""
        return cast("tuple[Reference, ...]", self.fields.get("references", ()))


class Metadata(NamedTuple):
    """The front matter: the publish document's and the companion's together (R18).

    Times are ISO 8601 text. `extra` keeps what other programs wrote and we do not know.
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
    roster: Mapping[str, JSON] = NOTHING
    research_program: Mapping[str, JSON] = NOTHING
    extra: Mapping[str, JSON] = NOTHING

    @property
    def agents(self) -> tuple[str, ...]:
        """The names in the session's roster, in its order; whatever else stands there aside."""
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
        """The items of a section that are not killed."""
        return tuple(item for item in self.sections[section.id] if item.killed is None)

    def all_items(self) -> Iterator[tuple[Section, Item]]:
        """The research thread, then every item, in the order of the sections."""
        yield RESEARCH_THREAD, self.research_thread
        for section in ITEM_SECTIONS:
            for item in self.sections[section.id]:
                yield section, item


def fields(values: Mapping[str, object]) -> Fields:
    """The fields of an item, from values that may be lists, plain maps, or say nothing."""
    return MappingProxyType({name: frozen(v) for name, v in values.items() if says_something(v)})


def says_something(value: object) -> bool:
    """Whether a field with this value is there at all."""
    return value is not None and value is not False and bool(value) and not is_blank(value)


def frozen(value: object) -> Value:
    """A value that nobody can change."""
    if type(value) is str or type(value) is bool:
        return value
    if isinstance(value, Mapping):
        return MappingProxyType(dict(value))
    if isinstance(value, list | tuple):
        return tuple(Reference(**each) if isinstance(each, dict) else each for each in value)
    raise TypeError(type(value).__name__)


_WITHOUT_NUMBER = 1 << 40


def order_of(item_id: str) -> tuple[int, str]:
    """The sort key of items: by number; those without one come last, by their words."""
    match = ITEM_ID.fullmatch(item_id)
    return (int(match[2] or 0), "") if match else (_WITHOUT_NUMBER, item_id)


# How the artifact is laid out: headings, labels and their order, how many items (companion, 1).


TITLE = "Brenner Protocol Artifact"
NONE_REGISTERED = "None registered"
NOT_APPLICABLE = "N/A"
MOST_ACTIVE_HYPOTHESES = 6
KILLED_BY, REASON, REFERENCES = "Killed by", "Reason", "References"


class Layout(NamedTuple):
    """One section: its heading, the label of each field in order, the least number of items."""

    section: Section
    heading: str
    labels: dict[str, str]
    least: int


LAYOUT = (
    Layout(
        RESEARCH_THREAD,
        "1. Research Thread",
        {
            "statement": "RT",
            "context": "Context",
            "why_it_matters": "Why it matters",
            "anchors": "Anchors",
        },
        1,
    ),
    Layout(
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
    Layout(PREDICTIONS_TABLE, "3. Predictions Table", {"references": REFERENCES}, 3),
    Layout(
        DISCRIMINATIVE_TESTS,
        "4. Discriminative Tests",
        {
            "procedure": "Procedure",
            "discriminates": "Discriminates",
            "expected_outcomes": "Expected outcomes",
            "potency_check": "Potency check",
            "feasibility": "Feasibility",
            "score": "Evidence-per-week score",
            "references": REFERENCES,
        },
        2,
    ),
    Layout(
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
    Layout(
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
    Layout(
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
LAYOUT_OF = {layout.section.id: layout for layout in LAYOUT}
# **Evidence-per-week score**: `LR=3, Cost=2, Speed=2, Ambiguity=3`
SCORE_LABELS = dict(zip(SCORE_PARTS, ("LR", "Cost", "Speed", "Ambiguity"), strict=True))
ID_COLUMN, CONDITION_COLUMN = "ID", "Observation/Condition"


# The order in which items are shown: tests by score, all others by number (R14).


def total(test: Item) -> int:
    """The sum of the parts of its score that were given; -1 without any."""
    return sum(test.score.values()) if test.score else -1


def _by_score(test: Item) -> tuple[int, tuple[int, str]]:
    """Highest first, scoreless ones last, then by number; killed ones among them."""
    return (-total(test), order_of(test.id))


def shown(section: Section, items: Iterable[Item]) -> list[Item]:
    """The items of a section as a reader sees them."""
    if section is DISCRIMINATIVE_TESTS:
        return sorted(items, key=_by_score)
    return list(items)
