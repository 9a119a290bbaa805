"""What the critic does once there is a version: by now its numbers are known."""

import json
from collections.abc import Iterator
from typing import Any

from serving.scripted.contributions import add, critique, edit, kill, proper
from serving.scripted.diary import Answer, unframed
from serving.scripted.mistake import ADVISED, APPLIED, Mistake

BASE = 1


def items_in(answer: Answer) -> list[dict[str, Any]]:
    """The items of the artifact that `brenner_artifact` has shown as JSON."""
    artifact = json.loads(unframed(answer.value["artifact"]))
    sections = [section for section in artifact.values() if isinstance(section, list)]
    return [item for section in sections for item in section]


def named(items: list[dict[str, Any]], name: str) -> str:
    """The number of the item with this name, or condition."""
    return next(
        str(each["id"]) for each in items if name in (each.get("name"), each.get("condition"))
    )


def second_round(items: list[dict[str, Any]]) -> Iterator[Mistake]:
    """What only a thread can tell is wrong; each is stored with the advice, and sent again."""
    mine = named(items, "Empty payload of hypothesis_slate")
    killed = named(items, "Inline, in prose")
    seventh = add("hypothesis_slate", "Seventh hypothesis")
    room = kill(mine, "There are six already", "hypothesis_slate")
    yield _told("section limit", "SECTION_LIMIT_EXCEEDED", (seventh,), (room, seventh))
    wrong = edit(killed, evidence="Edited after its death")
    alive = edit(named(items, "Never closed"), evidence="Edited after its death")
    yield _told("killed target", "TARGET_KILLED", (wrong,), (alive,))
    wrong = add("anomaly_register", "Conflicts with nothing", conflicts_with=["H99"])
    right = add("anomaly_register", "Conflicts with nothing", conflicts_with=["H1"])
    yield _told("unknown item", "UNKNOWN_ITEM", (wrong,), (right,))
    meant = critique("Base written otherwise")
    sent = proper(meant, base=BASE).replace(": v1", ": 1")
    yield Mistake("malformed base", "MALFORMED_VERSION", (meant,), sent, APPLIED)


def _told(name: str, code: str, sent: tuple[Any, ...], meant: tuple[Any, ...]) -> Mistake:
    anyway = {"anyway": True}  # each is the only block of its message
    return Mistake(name, code, meant, proper(*sent, base=BASE), ADVISED, base=BASE, more=anyway)
