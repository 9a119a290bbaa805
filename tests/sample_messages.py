"""Messages written out, for the random threads of `histories`.

They open a thread, or bring about what chance seldom does: disputes about one field, a KILL and
what comes after it, a name and a number for one item, a refused ADD and what depends on it.
"""

from collections.abc import Callable
from datetime import datetime
from typing import NamedTuple

from brenner.protocol.delta.parse import render_delta
from brenner.protocol.delta.schema import (
    HYPOTHESIS_SLATE,
    RESEARCH_THREAD,
    SECTIONS,
    Delta,
    Operation,
)
from brenner.protocol.messages import Message, StoredMessage

THREAD_ID = "RS-20251230-cell-fate"
ROLES = {"BlueLake": "opus", "RedSky": "gpt", "GreenHill": "gemini"}
ADD, EDIT, KILL = Operation


class Draft(NamedTuple):
    """A DELTA message before it is sent: its blocks as text, and the base as it states it."""

    sender: str
    base: str
    blocks: tuple[str, ...]

    def body(self, prose: str = "") -> str:
        """The Markdown of the message; `prose` stands around every block."""
        base = f"**Base Version**: {self.base}\n\n" if self.base else ""
        parts = [f"# Delta Contribution\n\n{base}## Deltas\n", *self.blocks]
        return f"\n{prose}\n".join([*parts, ""])

    def posted(self, number: int, at: datetime, prose: str = "") -> StoredMessage:
        """The message as a store has it."""
        subject = f"DELTA[{ROLES[self.sender]}]: a contribution"
        to = ("Operator",)
        return StoredMessage(
            number, at, Message(THREAD_ID, self.sender, to, subject, self.body(prose))
        )


def edit(section: str, target: str, **payload: object) -> str:
    """An EDIT, as a block."""
    return render_delta(Delta(EDIT, section, target, payload, "why"))


def kill(section: str, target: str) -> str:
    """A KILL, as a block."""
    return render_delta(Delta(KILL, section, target, {"reason": "no"}, "why"))


def hypothesis(name: str, local_id: str | None = None, **more: object) -> str:
    """An ADD of a hypothesis, as a block."""
    payload = {"name": name, "claim": "c", "mechanism": "m", "anchors": ["§1"], **more}
    return render_delta(Delta(ADD, HYPOTHESIS_SLATE.id, None, payload, "why", local_id))


def row(cells: dict[str, str], local_id: str | None = None) -> str:
    """An ADD of a row of the predictions table, as a block."""
    payload: dict[str, object] = {"condition": "x", "predictions": cells}
    return render_delta(Delta(ADD, "predictions_table", None, payload, "why", local_id))


def to(item: str, session: str = THREAD_ID) -> list[dict[str, str]]:
    """One reference."""
    return [{"session": session, "item": item, "relation": "refines"}]


TWO = ("one", "two")
FIVE = (*TWO, "three", "four", "five")
SIX = ("six", *reversed(FIVE))
_OTHERS: dict[str, object] = {
    "predictions": {"H1": "grows", "H2": "fades"},
    "expected_outcomes": {"H1": "grows"},
    "discriminates": "H1 vs H2",
    "conflicts_with": ["H1"],
}


def opening(sender: str, names: tuple[str, ...]) -> Draft:
    """A message that adds several hypotheses and one item of each other section."""
    blocks = [hypothesis(name) for name in names]
    for section in SECTIONS.values():
        payload = {
            kind.name: _OTHERS.get(kind.name, kind.choices[0] if kind.choices else "x")
            for kind in section.fields.values()
            if kind.required
        }
        if section not in (RESEARCH_THREAD, HYPOTHESIS_SLATE):
            blocks.append(render_delta(Delta(ADD, section.id, None, payload, "why")))
    return Draft(sender, "", tuple(blocks))


# A few fields that everybody wants to edit
_RT, _H, _P, _T = "research_thread", "hypothesis_slate", "predictions_table", "discriminative_tests"
DISPUTES = (
    (
        edit(_RT, "RT", context="one"),
        edit(_RT, "RT", context="two"),
        edit(_RT, "RT", context=" "),
    ),
    (
        edit(_RT, "RT", anchors=["§1"]),
        edit(_RT, "RT", anchors=["§2", "§3"]),
        edit(_RT, "RT", anchors=["§3", "§1"], anchors_replace=True),
        edit(_RT, "RT", anchors=[], replace=True),
    ),
    (
        edit(_H, "H1", claim="one"),
        edit(_H, "H1", claim="two", third_alternative=True),
        edit(_H, "H1", third_alternative=False),
        kill(_H, "H1"),
    ),
    (
        edit(_P, "P1", predictions={"H1": "one", "H2": "two"}),
        edit(_P, "P1", predictions={"H1": "two"}),
        edit(_P, "P1", predictions={"H1": "N/A"}),
        edit(_P, "P1", predictions={"H2": "one"}, replace=True),
        kill(_H, "H1"),
    ),
    (
        edit(_T, "T1", score={"cost": 1, "speed": 0}),
        edit(_T, "T1", score={"cost": 2}, score_replace=True),
        kill(_T, "T1"),
    ),
)
# Each with a number: of an item that is there, that she or somebody adds, or of none
Scene = Callable[[str], tuple[str, ...]]
SCENES: tuple[Scene, ...] = (
    lambda number: (kill(_H, number), hypothesis("one")),
    lambda number: (edit(_H, number, claim="one"), edit(_H, number, claim="two")),
    lambda number: (edit(_H, number, claim="one"), edit(_H, number, claim="one")),
    lambda _: (hypothesis("twin", "a"), hypothesis("twin", "b"), edit(_H, "@b", claim="one")),
    lambda _: (edit(_H, "@a", claim="one"), hypothesis("new", "a"), edit(_H, "@a", claim="two")),
    lambda number: (hypothesis("new"), row({number: "grows"})),
    lambda number: (hypothesis("new"), edit(_H, number, claim="mine")),
    lambda number: (hypothesis("one", "a"), row({number: "grows", "@a": "fades"})),
    lambda number: (spoiled(hypothesis("one"), 0), row({"H1": "grows", number: "fades"})),
    lambda number: (hypothesis("one", "a"), edit(_H, "@a", references=to(number))),
    lambda number: (edit(_H, "H1", references=to(number)), kill(_H, number)),
    lambda number: (row({"@b": "grows"}, "a"), hypothesis("two", "b", references=to(number))),
)


def spoiled(block: str, how: int) -> str:
    """A block that is refused when it is read, each for another reason; or one that is not."""
    if how == 0:
        return block[: block.rindex("}")].rstrip() + ",\n}" + block[block.rindex("}") + 1 :]
    if how == 1:
        return block.replace('"payload": {', '"payload": {"strength": 3, "name_": "x",', 1)
    if how == 2:
        return block.replace('"operation": "', '"operation": "RE', 1)
    if how == 3:
        return block.replace('"payload"', '"contents"', 1)
    if how == 4:
        return block.replace('_slate"', '"', 1)
    return block.replace("{", "{ // why\n", 1)
