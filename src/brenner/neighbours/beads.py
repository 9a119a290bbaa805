"""bd: the bead of an engineering thread, which has the thread's ID (Cross-Reference Contract)."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from brenner.neighbours.programs import Ran, run

SECONDS = 3
_MOST = 1_000  # characters of a field; who wants more asks bd


class Bead(NamedTuple):
    """What bd tells of a bead, as far as it tells it; it is other people's text.

    `problem` says, in words, why bd has told nothing.
    """

    id: str
    title: str | None = None
    status: str | None = None
    priority: int | str | None = None
    assignee: str | None = None
    problem: str = ""


def show(program: str, bead: str, folder: Path | None = None) -> Bead:
    """Ask bd for a bead; one whose ID begins with a hyphen is no option."""
    asked = ["--json", "--", bead] if bead.startswith("-") else [bead, "--json"]
    ran = run([program, "show", *asked], SECONDS, folder)
    if not ran.is_fine:
        return Bead(bead, problem=_refusal(ran))
    try:
        return _read(json.loads(ran.out), bead)
    except (ValueError, RecursionError):
        return Bead(bead, problem="its answer is no JSON")


def _refusal(ran: Ran) -> str:
    """Why bd told nothing: its own words, which may be JSON."""
    if not ran.problem:
        try:
            said = json.loads(ran.out)
        except (ValueError, RecursionError):
            return ran.reason
        error = said.get("error") if isinstance(said, Mapping) else None
        return ran._replace(out="", err=error).reason if isinstance(error, str) else ran.reason
    return ran.reason


def _read(answer: object, bead: str) -> Bead:
    """One object, or a list with one."""
    if isinstance(answer, list) and len(answer) == 1:
        answer = answer[0]
    if not isinstance(answer, Mapping):
        return Bead(bead, problem="its answer is not one bead")
    named = answer.get("id")
    if isinstance(named, str) and named != bead:
        return Bead(bead, problem="its answer is about another bead")
    priority = answer.get("priority")
    is_number = isinstance(priority, int) and not isinstance(priority, bool)
    return Bead(
        bead,
        _text(answer.get("title")),
        _text(answer.get("status")),
        priority if is_number else _text(priority),
        _text(answer.get("assignee")),
    )


def _text(value: object) -> str | None:
    """A text with something in it."""
    return value.strip()[:_MOST] or None if isinstance(value, str) else None
