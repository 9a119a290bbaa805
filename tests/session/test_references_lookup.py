"""How other sessions are looked up: by rows that are kept, by chains; and no more than needed."""

from collections.abc import Mapping
from typing import Any

import pytest

from brenner.config import find_project
from brenner.mail.mailbox import Capability
from brenner.mail.memory import MemoryMailbox
from brenner.mail.model import Profile
from brenner.mail.sql.mailbox import SqlMailbox
from brenner.services import compile as compiling
from brenner.services.references import check_references
from brenner.services.sessions import OverviewCache, overviews
from brenner.services.workspace import Workspace
from session.referring import (
    FIRST,
    SECOND,
    Referring,
    place,
    references_of,
    to,
)
from session.test_references import circle_of_three
from session.workspaces import ANN, add, edit

__all__ = ["place"]
CIRCLE, CIRCULAR = "CIRCLE_OF_REFERENCES", "CIRCULAR_REFERENCE"


def test_what_refers_to_nothing_loads_nothing(
    place: Referring, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other sessions cost nothing then; nor where no reference is new."""
    place.start(FIRST, SECOND)
    looked_at: list[str] = []
    find = OverviewCache.find

    def watched(self: OverviewCache, thread_id: str) -> object:
        looked_at.append(thread_id)
        return find(self, thread_id)

    monkeypatch.setattr(OverviewCache, "find", watched)
    place.send(FIRST, edit("H1", claim="Another"))
    place.compile(FIRST)
    assert looked_at == []
    place.send(FIRST, edit("H1", references=[to(SECOND, "H1")]))
    place.compile(FIRST)
    assert set(looked_at) == {SECOND}


def line(place: Referring, length: int) -> list[str]:
    """Sessions of which each refers to the one before it, as the list of sessions keeps them."""
    names = [f"RS-20260101-number-{number}" for number in range(length)]
    for before, name in zip([None, *names], names, strict=False):
        references = [to(before, "H1")] if before else []
        place.send(name, add("It", references=references))
        place.compile(name)
    overviews(place.workspace)
    return names


def test_a_circle_through_many_sessions(place: Referring) -> None:
    """More than are looked up one by one; one of them has changed since its row was kept."""
    first, *_, middle, last = line(place, 40)
    place.send(last, edit("H1", references=[], references_replace=True))
    place.compile(last)
    place.send(first, edit("H1", references=[to(last, "H1")]))
    assert references_of(place.compile(first), "H1") == [f"extends {last} H1"]
    place.send(last, edit("H1", references=[to(middle, "H1")]))
    done = place.compile(last)
    assert [each.id for each in done.ledger[0].diagnostics] == [CIRCULAR]


def test_looking_writes_nothing_where_rows_are_true(
    place: Referring, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A row that had to be worked out is kept, once; no chain is loaded for a true one."""
    *_, before, last = line(place, 5)
    kept: list[str] = []
    keep = SqlMailbox.keep

    def watched(self: SqlMailbox[Any], contents: Mapping[str, str]) -> None:
        kept.extend(contents)
        keep(self, contents)

    monkeypatch.setattr(SqlMailbox, "keep", watched)
    place.send(last, edit("H1", references=[to(before, "RT")]))
    dry_run = compiling.CompileOptions(dry_run=True)
    compiling.compile_thread(place.workspace, last, dry_run)
    assert kept == []
    place.send(before, add("Another"))
    compiling.compile_thread(place.workspace, last, dry_run)
    assert kept == [f"session of Operator for {before}"]
    compiling.compile_thread(place.workspace, last, dry_run)
    assert len(kept) == 1


def test_a_home_that_keeps_nothing(place: Referring) -> None:
    """The same circle is found there, by the chains."""
    mailbox = MemoryMailbox(lacks={Capability.CACHE: "only messages"})
    mailbox.register(Profile(ANN))
    mailbox.register(Profile("Operator"))
    place.workspace = Workspace(mailbox, find_project(str(place.folder), {}), "Operator")
    assert [each.id for each in circle_of_three(place).ledger[0].diagnostics] == [CIRCULAR]
    assert check_references(place.workspace).circles == ()
